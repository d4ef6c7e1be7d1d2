package main

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestCountStarts checks that a burst that a relay takes over in a later window is one start of that window, and none
// if it ends without an attempt. One that is queued again is a start once its attempt is recorded.
func TestCountStarts(t *testing.T) {
	t.Parallel()
	later := noon.Add(time.Minute)
	run := []deliveryRow{
		{Status: "queued"}, {Status: "pending", CountedIn: &noon}, {Status: "pending", CountedIn: &later},
	}
	counted := map[window]*counts{}
	s := newBook().s
	n := s.countStarts(counted, run)
	here, moved := counted[window{starts: noon.UnixNano()}].started, counted[window{starts: later.UnixNano()}].started
	if n != 1 || here != 0 || moved != 1 {
		t.Errorf("taken over: got %d starts, %d in the earlier and %d in the later window, want 1, 0 and 1", n, here, moved)
	}
	counted = map[window]*counts{}
	n = s.countStarts(counted, append(run, deliveryRow{Status: "cancelled", CountedIn: &later}))
	if left := counted[window{starts: later.UnixNano()}].started; n != 0 || left != 0 {
		t.Errorf("cancelled: got %d starts, %d in the later window, want none", n, left)
	}
	counted = map[window]*counts{}
	n = s.countStarts(counted, append(run, deliveryRow{Status: "queued", CountedIn: &later},
		deliveryRow{Status: "delivered", CountedIn: &later, Attempts: 1}))
	if again := counted[window{starts: later.UnixNano()}]; n != 1 || again.started != 1 || again.late != 1 {
		t.Errorf("recorded late: got %d starts, %+v in the later window, want one", n, again)
	}
}

// TestLimitOfAnEarlierWindow checks that a plan applies to a window before it if the clock of PostgreSQL was stepped
// back.
func TestLimitOfAnEarlierWindow(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.open("a")
	b.s.Window = 10 * time.Second
	earlier := b.at.Add(-longestStep / 2)
	if limit, limited := b.s.limit(b.h, "ws_a", earlier); limit != 0 || !limited {
		t.Errorf("without a step: got %d, %t, want 0, true", limit, limited)
	}
	b.h.addDisturbance(disturbance{Fault: "clock-postgres", Begin: b.at, End: b.at.Add(time.Second)})
	want, _ := app.PlanStarter.PerWindow()
	if limit, limited := b.s.limit(b.h, "ws_a", earlier); limit != want || !limited {
		t.Errorf("after a step: got %d, %t, want %d, true", limit, limited, want)
	}
}
