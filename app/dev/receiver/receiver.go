// Package receiver is the webhook receiver of the development program. It verifies and prints requests, and can
// simulate failures.
package receiver

import (
	"net/http"
	"strconv"
	"time"

	"github.com/comanda-dev/comanda/app/listen"
)

// Path is the path of the receiver. Its query can simulate failures: "?fail=503" responds with that status, "?hang=20s"
// waits before the response.
const Path = "/hook"

// Handler receives events at Path.
func Handler(o listen.Options) http.Handler {
	o.Next = http.HandlerFunc(misbehave)
	mux := http.NewServeMux()
	mux.Handle(Path, listen.Handler(o))
	return mux
}

// misbehave responds as the query requests. It returns early if the sender closes the connection.
func misbehave(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if query.Has("hang") {
		wait, err := time.ParseDuration(query.Get("hang"))
		if err != nil {
			http.Error(w, "hang must be a duration such as 20s", http.StatusBadRequest)
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
			http.Error(w, "fail must be a status from 200 to 599", http.StatusBadRequest)
			return
		}
	}
	w.WriteHeader(status)
}
