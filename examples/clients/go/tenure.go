// May this instance act? Standard library only; take Tenure and Ask into your program. The rule is told in docs/clients.md.
//
//	tenure, err := Ask(4040, "")
//	if err == nil && tenure.ValidFor() > 0 {
//		db.Exec("UPDATE job SET state = $1, fence = $2 WHERE id = $3 AND fence <= $2", ...)
//	}
//
// Put the generation into every write. This process may stand still between the look at the clock and the write, and
// another instance may lead when it goes on: only what is written to can refuse the write then.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Tenure is what this instance holds, and for how long it may rely on that.
type Tenure struct {
	Election, Session      string
	Generation, ValidForMs int64
	sent                   time.Time
}

// ValidFor is how long this instance may still act. Go's monotonic clock stands still on Linux while the machine is
// suspended, the wall clock does not: the one that ran further counts.
func (t Tenure) ValidFor() time.Duration {
	wall := time.Now().Round(0).Sub(t.sent.Round(0))
	return time.Duration(t.ValidForMs)*time.Millisecond - max(time.Since(t.sent), wall)
}

var client = http.Client{
	Timeout:       500 * time.Millisecond, // of everything, the body included
	Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 1},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Ask gives the tenure held now, or why there is none. No answer means no.
func Ask(port int, election string) (*Tenure, error) {
	query := ""
	if election != "" {
		query = "?" + url.Values{"election": {election}}.Encode()
	}
	tenure := Tenure{sent: time.Now()} // before the question leaves: the sidecar can only have counted from later
	response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/v1/leadership%s", port, query))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Leading bool
		State   string
		Error   struct{ Message string }
		*Tenure
	}
	answer.Tenure = &tenure
	err = json.NewDecoder(io.LimitReader(response.Body, 65536)).Decode(&answer)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != 200:
		return nil, fmt.Errorf("status %d %s", response.StatusCode, answer.Error.Message)
	case !answer.Leading || tenure.Generation < 1 || tenure.Session == "":
		return nil, fmt.Errorf("this instance is %s", answer.State)
	case tenure.ValidFor() <= 0:
		return nil, fmt.Errorf("the answer came too late")
	}
	return &tenure, nil
}

func main() {
	port, election := 4040, ""
	if len(os.Args) > 1 {
		if _, err := fmt.Sscan(os.Args[1], &port); err != nil {
			fmt.Println("the first argument is a port:", err)
			os.Exit(2)
		}
	}
	if len(os.Args) > 2 {
		election = os.Args[2]
	}
	tenure, err := Ask(port, election)
	if err != nil {
		fmt.Println("not leading:", err)
		os.Exit(3)
	}
	fmt.Printf("leading generation=%d session=%s validForMs=%d\n",
		tenure.Generation, tenure.Session, tenure.ValidFor().Milliseconds())
}
