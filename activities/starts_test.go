package activities

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// Websites take turns at the places for starts, and each start of a website waits for those before it.
func TestStartPlacesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		places := newStartPlaces(2)
		var entered []string
		for _, website := range []string{"flood", "flood", "flood", "flood", "flood", "quiet", "other", "quiet"} {
			go func() {
				places.enter(website)
				entered = append(entered, website)
			}()
			synctest.Wait()
		}
		for range 8 {
			places.leave()
			synctest.Wait()
		}
		want := []string{"flood", "flood", "flood", "quiet", "other", "flood", "quiet", "flood"}
		if diff := cmp.Diff(want, entered); diff != "" {
			t.Errorf("order of starts (-want +got):\n%s", diff)
		}
		if places.free != 2 || len(places.turns) > 0 || len(places.waiting) > 0 {
			t.Errorf("after all starts: got %d free places, %v waiting, want 2 and none", places.free, places.waiting)
		}
	})
}
