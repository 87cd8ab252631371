#!/usr/bin/env python3
"""May this instance act? For Python 3.7 and later, without a package. The rule is told in docs/clients.md.

    tenure, why = ask()
    if tenure and tenure.valid_for_ms() > 0:
        cursor.execute("UPDATE job SET state = %s, fence = %s WHERE id = %s AND fence <= %s", ...)

Put the generation into every write. This process may stand still between the look at the clock and the write, and
another instance may lead when it goes on: only what is written to can refuse the write then.
"""
import http.client
import json
import sys
import time
import urllib.parse
from typing import NamedTuple, Optional, Tuple


def now() -> float:
    """Seconds. On Linux CLOCK_BOOTTIME counts the time that the machine was suspended; CLOCK_MONOTONIC does not."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Tenure(NamedTuple):
    election: str
    session: str
    generation: int
    until: float  # by now()

    def valid_for_ms(self) -> int:
        return max(0, int((self.until - now()) * 1000))


def ask(election: Optional[str] = None, port: int = 4040, timeout: float = 0.5) -> Tuple[Optional[Tenure], str]:
    """The tenure held now, or None and why not. No answer means no; timeout is in seconds, for each read."""
    query = "" if election is None else "?" + urllib.parse.urlencode({"election": election})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    sent = now()  # before the question leaves: the sidecar can only have counted from later
    try:
        connection.request("GET", "/v1/leadership" + query)
        response = connection.getresponse()
        answer = json.loads(response.read(65536))
        if response.status != 200:
            return None, answer["error"]["message"]
        if answer["leading"] is not True:
            return None, "this instance is " + answer["state"]
        until = sent + int(answer["validForMs"]) / 1000
        tenure = Tenure(answer["election"], str(answer["session"]), int(answer["generation"]), until)
        return (tenure, "leading") if tenure.valid_for_ms() > 0 else (None, "the answer came too late")
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, OverflowError) as error:
        return None, "no answer (%r)" % error
    finally:
        connection.close()


if __name__ == "__main__":
    named = sys.argv[2] if len(sys.argv) > 2 else None
    held, why = ask(named, int(sys.argv[1]) if len(sys.argv) > 1 else 4040)
    if held is None:
        print("not leading: " + why)
        sys.exit(3)
    print("leading generation=%d session=%s validForMs=%d" % (held.generation, held.session, held.valid_for_ms()))
