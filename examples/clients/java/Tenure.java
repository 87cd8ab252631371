import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * May this instance act? For Java 17 and later, without a library. The rule is told in docs/clients.md.
 *
 * <pre>
 * Tenure tenure = Tenure.ask(4040, null);   // NotLeading says why not
 * if (tenure.validForMs() > 0) jdbc.update("UPDATE job SET state = ?, fence = ? WHERE id = ? AND fence <= ?", ...);
 * </pre>
 *
 * Put the generation into every write. This process may stand still between the look at the clock and the write, and
 * another instance may lead when it goes on: only what is written to can refuse the write then.
 */
public record Tenure(long generation, String session, long promisedMs, long sentNanos, long sentWallMs) {

    public static final class NotLeading extends Exception {
        NotLeading(String why) {
            super(why);
        }
    }

    private static final long TIMEOUT_MS = 500;
    private static final HttpClient CLIENT = HttpClient.newBuilder()
        .version(HttpClient.Version.HTTP_1_1).proxy(HttpClient.Builder.NO_PROXY).build();
    // Java brings no JSON. The sidecar writes these four side by side; anything else is taken for "not leading".
    private static final Pattern LEADING = Pattern.compile(
        "\"leading\":true,\"generation\":(\\d{1,16}),\"session\":\"([0-9a-f-]{36})\",\"validForMs\":(\\d{1,9}),.*}\\s*$", Pattern.DOTALL);
    private static final Pattern REASON = Pattern.compile("\"(?:state|message)\":(\"(?:[^\"\\\\]|\\\\.)*\")");

    /**
     * How long this instance may still act. On Linux nanoTime stands still while the machine is suspended, the wall
     * clock does not: the one that ran further counts.
     */
    public long validForMs() {
        long steadyMs = (System.nanoTime() - sentNanos + 999_999) / 1_000_000;
        return Math.max(0, promisedMs - Math.max(steadyMs, System.currentTimeMillis() - sentWallMs));
    }

    /** The tenure held now. No answer means no. */
    public static Tenure ask(int port, String election) throws NotLeading {
        String query = election == null ? "" : "?election=" + URLEncoder.encode(election, StandardCharsets.UTF_8);
        HttpRequest request = HttpRequest.newBuilder(
            URI.create("http://127.0.0.1:" + port + "/v1/leadership" + query)).build();
        // Before the question leaves: the sidecar can only have counted from later.
        long sentNanos = System.nanoTime(), sentWallMs = System.currentTimeMillis();
        var reply = CLIENT.sendAsync(request, HttpResponse.BodyHandlers.ofString());
        HttpResponse<String> response;
        try {
            response = reply.get(TIMEOUT_MS, TimeUnit.MILLISECONDS); // all of it: a time-out of HttpRequest ends with the headers
        } catch (Exception error) {
            reply.cancel(true);
            if (error instanceof InterruptedException) Thread.currentThread().interrupt();
            throw new NotLeading("no answer (" + error + ")");
        }
        var found = LEADING.matcher(response.body());
        if (response.statusCode() != 200 || !found.find()) {
            var reason = REASON.matcher(response.body());
            throw new NotLeading("the sidecar answers " + response.statusCode() + (reason.find() ? " " + reason.group(1) : ""));
        }
        var tenure = new Tenure(Long.parseLong(found.group(1)), found.group(2), Long.parseLong(found.group(3)), sentNanos, sentWallMs);
        if (tenure.validForMs() == 0) throw new NotLeading("the answer came too late");
        return tenure;
    }

    public static void main(String[] args) {
        try {
            Tenure tenure = ask(args.length > 0 ? Integer.parseInt(args[0]) : 4040, args.length > 1 ? args[1] : null);
            System.out.printf("leading generation=%d session=%s validForMs=%d%n",
                tenure.generation(), tenure.session(), tenure.validForMs());
        } catch (NotLeading no) {
            System.out.println("not leading: " + no.getMessage());
            System.exit(3);
        }
    }
}
