package activities

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A burst counts for a website until the website's last delivery has settled, or until the burst ends.
func TestBurstsOfWebsites(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	c := newCrowd(t, 3, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Webhook-Id") == "dlv_2" {
			close(arrived)
			<-release
		}
	})
	c.in.Deliveries[2].Queue = "web_2"
	c.queue.away = true
	if _, err := c.DeliverBurst(t.Context(), c.in); err == nil || len(c.Websites()) > 0 {
		t.Errorf("error %v, bursts %v, want an error and none", err, c.Websites())
	}
	c.queue.away = false
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if got, err := c.DeliverBurst(t.Context(), c.in); err != nil || got.Delivered != 3 {
			t.Errorf("result %+v, %v, want 3 delivered", got, err)
		}
	}()
	<-arrived
	want := map[string]int{"web_2": 1}
	for !cmp.Equal(want, c.Websites()) && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	close(release)
	<-ended
	if len(c.Websites()) > 0 {
		t.Errorf("bursts %v after the end, want none", c.Websites())
	}
}
