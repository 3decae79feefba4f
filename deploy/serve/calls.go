package serve

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// calls is what is answered to requests.
type calls struct {
	Service
	turns     *turns
	strangers *tally
}

func (c *calls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		// Also for a body that nobody reads: the server does, to its bound, before the next request.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(headerTime))
	}
	w.Header().Set("Cache-Control", "no-store")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case r.URL.Path == "/healthz" && reads:
		c.health(w)
	case r.URL.Path == "/healthz" && !c.Function:
		w.Header().Set("Allow", "GET, HEAD")
		say(w, http.StatusMethodNotAllowed, "GET /healthz says how ebb is, and no other method does anything")
	case r.URL.Path != "/run" && !c.Function:
		say(w, http.StatusNotFound, "there is POST /run and GET /healthz")
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		say(w, http.StatusMethodNotAllowed, "POST starts a run, nothing else does")
	default:
		c.call(w, r)
	}
}

// health tells how ebb is, from what it knows by itself.
func (c *calls) health(w http.ResponseWriter) {
	status, state := http.StatusOK, "idle"
	switch {
	case c.turns.ctx.Err() != nil:
		status, state = http.StatusServiceUnavailable, "stopping"
	case c.turns.running():
		state = "running"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, "{\"state\":%q}\n", state)
}

// call waits for a run that begins from now on, and answers with its summary.
func (c *calls) call(w http.ResponseWriter, r *http.Request) {
	if status, why := c.admit(r); status != 0 {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="ebb"`)
		}
		say(w, status, why)
		return
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r.Body, mostBody+1)); err != nil {
		say(w, http.StatusBadRequest, "the request's body cannot be read; send none")
		return
	} else if n > mostBody {
		say(w, http.StatusRequestEntityTooLarge, "the request's body is too large; send none")
		return
	}

	run := c.turns.call()
	if run == nil {
		say(w, http.StatusServiceUnavailable, stops)
		return
	}
	defer c.turns.leave(run)
	select {
	case <-run.over:
	case <-r.Context().Done():
		return
	}
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	if run.refused {
		say(w, http.StatusServiceUnavailable, stops)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Ebb-Exit-Status", strconv.Itoa(run.result.Status))
	switch {
	case run.result.Status != 0:
		w.WriteHeader(http.StatusInternalServerError)
	case !run.result.Looked:
		w.WriteHeader(http.StatusServiceUnavailable) // stopped before it saw what the caller had committed
	}
	w.Write(run.result.Summary) // an error is that of a caller who went away
}

// stops is what a caller hears for whom no run begins any more.
const stops = "ebb is stopping and began no run for this call; call again when it is back"

func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}
