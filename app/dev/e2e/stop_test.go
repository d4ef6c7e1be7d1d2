package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// TestStopWithAttemptsInFlight stops a worker gracefully while its receivers take one and three seconds, which is
// shorter and longer than an attempt may stay in a burst. Another worker starts meanwhile. Each attempt is made once.
func TestStopWithAttemptsInFlight(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		for _, begun := range []int{groupSize / 4, 2 * groupSize} { // requests before the stop
			t.Run(fmt.Sprintf("bursts %s, after %d requests", bursts, begun), func(t *testing.T) {
				settings := map[string]string{"COMANDA_BURST": bursts}
				groups := []*group{newGroup(t, taking(t, time.Second)), newGroup(t, taking(t, 3*time.Second))}
				for _, g := range groups {
					g.order()
				}
				first := worker(t, settings)
				requests := func() int { return groups[0].requests() + groups[1].requests() }
				eventually(t, "attempts are in flight", func() error { return atLeast(begun, requests()) })
				stopped := make(chan error)
				go func() { stopped <- first.Stop(t.Context()) }()
				worker(t, settings)
				must(t, <-stopped)
				for _, g := range groups {
					g.await("delivered", comanda.DeliveryStatusDelivered)
					for _, d := range g.list() {
						if d.Attempts != 1 {
							t.Errorf("attempts: got %d, want 1", d.Attempts)
						}
					}
				}
				if n := requests(); n != 2*groupSize {
					t.Errorf("requests: got %d, want %d", n, 2*groupSize)
				}
			})
		}
	}
}

// taking returns the behaviour of a receiver that waits for some time before it accepts a request.
func taking(t *testing.T, d time.Duration) func(int) int {
	return func(int) int {
		select {
		case <-time.After(d):
		case <-t.Context().Done():
		}
		return http.StatusNoContent
	}
}
