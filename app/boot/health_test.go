package boot

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthOfAny(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		processes [2]int // status of each process, 0 = it does not run
		want      string // part of the error, "" = healthy
	}{
		"api":               {[2]int{200, 0}, ""},
		"worker":            {[2]int{0, 200}, ""},
		"both":              {[2]int{200, 200}, ""},
		"worker-not-ready":  {[2]int{200, 503}, "is not ready: 503"},
		"api-not-ready":     {[2]int{503, 200}, "is not ready: 503"},
		"none":              {[2]int{0, 0}, "no process is running"},
		"not-ready-and-off": {[2]int{0, 503}, "is not ready: 503"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var addresses []string
			for _, status := range c.processes {
				if status == 0 {
					addresses = append(addresses, nobody)
					continue
				}
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(status)
				}))
				t.Cleanup(server.Close)
				addresses = append(addresses, server.Listener.Addr().String())
			}
			err := healthOfAny(t.Context(), addresses...)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
