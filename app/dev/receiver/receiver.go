// Package receiver is the webhook receiver of the development stack: it verifies and prints what it gets, and can be
// asked to misbehave.
package receiver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/comanda-dev/comanda/app/listen"
)

// Path is where events are received. Its query may ask for trouble: "?fail=503" answers that status, "?hang=20s" waits
// before it answers.
const Path = "/hook"

// Handler receives events at Path.
func Handler(o listen.Options) http.Handler {
	o.Next = http.HandlerFunc(misbehave)
	mux := http.NewServeMux()
	mux.Handle(Path, listen.Handler(o))
	return mux
}

// misbehave answers as the query asks for. It ends early when the sender hangs up.
func misbehave(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Has("hang") {
		wait, err := time.ParseDuration(query.Get("hang"))
		if err != nil {
			http.Error(w, "hang wants a duration such as 20s", http.StatusBadRequest)
			return
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
	}
	status := http.StatusNoContent
	if query.Has("fail") {
		var err error
		if status, err = strconv.Atoi(query.Get("fail")); err != nil || status < 200 || status > 599 {
			http.Error(w, "fail wants a status from 200 to 599", http.StatusBadRequest)
			return
		}
	}
	w.WriteHeader(status)
}
