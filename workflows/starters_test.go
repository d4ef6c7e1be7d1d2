package workflows

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

const ms = time.Millisecond

func TestStarterPolicyNext(t *testing.T) {
	t.Parallel()
	policy := starterPolicy{min: 4, max: 64, slowdown: 2, decrease: 0.75}
	for name, test := range map[string]struct {
		n      int
		window startWindow
		want   int
	}{
		"fast, with a backlog":     {8, startWindow{started: 16, total: 16 * 40 * ms, backlog: true}, 9},
		"fast, without a backlog":  {8, startWindow{started: 16, total: 16 * 40 * ms}, 8},
		"at the bound":             {64, startWindow{started: 128, total: 128 * 40 * ms, backlog: true}, 64},
		"slow":                     {16, startWindow{started: 32, total: 32 * 81 * ms, backlog: true}, 12},
		"slow, without a backlog":  {16, startWindow{started: 32, total: 32 * 81 * ms}, 12},
		"slow, at the bound":       {5, startWindow{started: 10, total: 10 * 81 * ms, backlog: true}, 4},
		"one start failed":         {16, startWindow{started: 31, failed: 1, total: 31 * 40 * ms, backlog: true}, 12},
		"no start succeeded":       {16, startWindow{failed: 32, backlog: true}, 12},
		"as slow as it is allowed": {8, startWindow{started: 16, total: 16 * 80 * ms, backlog: true}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			if got := policy.next(test.n, test.window, 40*ms); got != test.want {
				t.Errorf("%s: %d starters become %d, want %d", name, test.n, got, test.want)
			}
		})
	}
}

// A server that completes 170 starts per second is saturated regardless of its latency. With a low latency, the number
// of starters stays small.
func TestStartersSaturateDistantServer(t *testing.T) {
	t.Parallel()
	const perSecond = 170
	for _, test := range []struct {
		alone       time.Duration // duration of a single start
		least, most int           // bounds of the number of starters
	}{
		{5 * ms, 3, 3}, {35 * ms, 8, 13}, {65 * ms, 11, 23}, {200 * ms, 34, 64},
	} {
		n, slowest := healthyStarters.min, healthyStarters.max
		for round := range 200 {
			took := max(test.alone, time.Duration(n)*time.Second/perSecond)
			window := startWindow{started: 2 * n, total: time.Duration(2*n) * took, backlog: true}
			n = healthyStarters.next(n, window, test.alone)
			if round > 100 {
				slowest = min(slowest, n)
			}
		}
		if slowest < test.least || n > test.most {
			t.Errorf("latency %s: %d starters, minimum %d, want %d to %d",
				test.alone, n, slowest, test.least, test.most)
		}
		if reached := float64(slowest) / test.alone.Seconds(); reached < 0.9*perSecond {
			t.Errorf("latency %s: %d starters reach %.0f starts per second, want %.0f",
				test.alone, slowest, reached, 0.9*perSecond)
		}
	}
}

// The shortest start is forgotten after one to two minutes.
func TestShortestStart(t *testing.T) {
	t.Parallel()
	var shortest shortestStart
	for _, step := range []struct {
		at         time.Duration
		took, want time.Duration
	}{
		{0, 5 * ms, 5 * ms}, {30 * time.Second, 40 * ms, 5 * ms}, {61 * time.Second, 40 * ms, 5 * ms},
		{90 * time.Second, 35 * ms, 5 * ms}, {122 * time.Second, 40 * ms, 35 * ms},
		{190 * time.Second, 50 * ms, 40 * ms},
	} {
		shortest.add(start.Add(step.at), step.took)
		if got := shortest.duration(); got != step.want {
			t.Errorf("after %s: %s, want %s", step.at, got, step.want)
		}
	}
}

func TestUnitsKeepBurstsTogether(t *testing.T) {
	t.Parallel()
	var got string
	claims := []app.Claim{
		{ID: "a"}, {ID: "b", BurstID: "1"}, {ID: "c"}, {ID: "d", BurstID: "2"}, {ID: "e", BurstID: "1"},
	}
	for _, unit := range units(claims) {
		for _, claim := range unit {
			got += string(claim.ID)
		}
		got += " "
	}
	if want := "a be c d "; got != want {
		t.Errorf("units %q, want %q", got, want)
	}
}

// unitOf returns a unit with a claim of each of these websites.
func unitOf(id string, queues ...string) (unit []app.Claim) {
	for _, queue := range queues {
		unit = append(unit, app.Claim{ID: app.DeliveryID(id), Queue: queue})
	}
	return unit
}

// A unit of another website starts before those of a neighbour that were added earlier, and so does a burst with
// deliveries of both. Apart from such bursts, the units of a website keep their order.
func TestStartersTakeTurns(t *testing.T) {
	t.Parallel()
	var order []string
	began, release := make(chan struct{}, 100), make(chan struct{})
	start := func(unit []app.Claim) error {
		began <- struct{}{}
		<-release
		order = append(order, string(unit[0].ID))
		return nil
	}
	one := starterPolicy{min: 1, max: 1, slowdown: 2, decrease: 1}
	s := newStarters(one, 100, start, func([][]app.Claim) {}, func() {})
	until := time.Now().Add(time.Hour)
	s.add(unitOf("running", "neighbour"), until)
	<-began
	for _, next := range [][]app.Claim{
		unitOf("n1", "neighbour"), unitOf("n2", "neighbour"), unitOf("n3", "neighbour"), unitOf("n4", "neighbour"),
		unitOf("a1", "a"), unitOf("a2", "a"), unitOf("b1+n5", "neighbour", "b"), unitOf("n6", "neighbour"),
		unitOf("b2", "b"),
	} {
		s.add(next, until)
	}
	close(release)
	s.wait()
	want := []string{"running", "n1", "a1", "b1+n5", "n2", "a2", "b2", "n3", "n4", "n6"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order of the starts (-want +got):\n%s", diff)
	}
	if len(s.turns.last) > 0 {
		t.Errorf("remembers turns %v after all starts, want none", s.turns.last)
	}
}

// A burst that waits or is being started counts as a unit, and once for each of its websites.
func TestUnstartedUnits(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}, 3), make(chan struct{})
	start := func([]app.Claim) error {
		began <- struct{}{}
		<-release
		return nil
	}
	one := starterPolicy{min: 1, max: 1, slowdown: 2, decrease: 1}
	s := newStarters(one, 100, start, func([][]app.Claim) {}, func() {})
	until := time.Now().Add(time.Hour)
	s.add(unitOf("started", "a", "c"), until)
	<-began
	s.add(unitOf("first", "a", "b", "a"), until)
	s.add(unitOf("second", "b"), until)
	units, claims, websites := s.unstarted()
	if want := map[string]int{"a": 2, "b": 2, "c": 1}; units != 3 || claims != 6 || !maps.Equal(websites, want) {
		t.Errorf("%d units, %d claims, websites %v, want 3, 6, %v", units, claims, websites, want)
	}
	close(release)
	s.wait()
	if units, claims, websites := s.unstarted(); units != 0 || claims != 0 || len(websites) > 0 {
		t.Errorf("after all starts: %d units, %d claims, websites %v, want none", units, claims, websites)
	}
}
