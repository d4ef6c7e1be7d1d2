package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func TestDispatchPacing(t *testing.T) {
	t.Parallel()
	free, busy, away := freeStarters{healthy: true}, freeStarters{}, errors.New("away")
	none, full := app.Dispatched{}, app.Dispatched{Events: 500, Deliveries: 500, More: true}
	some, taken := app.Dispatched{Events: 3, Deliveries: 3}, app.Dispatched{More: true}
	for name, test := range map[string]struct {
		did        app.Dispatched
		free       freeStarters
		err        error
		backlog    bool
		woken      bool
		overloaded bool
		shut       bool
		want       time.Duration
		claim      bool
	}{
		"no events":                            {none, free, nil, false, false, false, false, idlePoll, false},
		"no events, then woken":                {none, free, nil, false, true, false, false, 10 * ms, false},
		"no events, then woken, busy":          {none, busy, nil, false, true, false, false, busyPoll, false},
		"no events, woken, overloaded":         {none, free, nil, false, true, true, false, burstPoll, false},
		"no events, woken, cannot claim":       {none, free, nil, false, true, false, true, 10*ms + burstPoll, false},
		"a full batch":                         {full, free, nil, false, false, false, false, 0, true},
		"a full batch, overloaded":             {full, free, nil, false, false, true, false, 0, true},
		"a full batch, starters are busy":      {full, busy, nil, false, false, false, false, busyPoll, true},
		"a full batch, deliveries wait":        {full, free, nil, true, false, false, false, 15 * ms, true},
		"the last events, deliveries wait":     {some, free, nil, true, false, false, false, idlePoll, true},
		"a full batch, deliveries wait, woken": {full, free, nil, true, true, false, false, 10 * ms, true},
		"other relays have all stores":         {taken, free, nil, false, false, false, false, busyPoll, false},
		"the database is away":                 {none, free, away, false, false, false, false, idlePoll, false},
		"events, then an error":                {some, free, away, false, false, false, false, idlePoll, true},
		"a full batch, then an error":          {full, free, away, false, false, false, false, 0, true},
		"no stores, then an error":             {taken, free, away, false, false, false, false, idlePoll, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := startDispatch(start)
			claim := p.dispatched(start, 5*ms, test.did, starting{test.free, test.backlog}, test.err)
			if test.woken {
				p.notify(start.Add(10*ms), test.free, test.overloaded, !test.shut)
			}
			if got := p.at.Sub(start); got != test.want || claim != test.claim {
				t.Errorf("next dispatch after %s, claim %v, want %s and %v", got, claim, test.want, test.claim)
			}
		})
	}
}

// While starts are the limit, a dispatch rests in relation to its duration, also if the relay is notified.
func TestDispatchRests(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]time.Duration{
		5 * ms: busyPoll, 20 * ms: 60 * ms, 200 * ms: promptStart,
	} {
		p, busy := startDispatch(start), freeStarters{}
		p.dispatched(start, took, app.Dispatched{Events: 2, Deliveries: 200, More: true}, starting{busy, true}, nil)
		p.notify(start.Add(ms), busy, false, true)
		if got := p.at.Sub(start); got != want {
			t.Errorf("a dispatch that took %s rests for %s, want %s", took, got, want)
		}
	}
}

// A notification of a replay leads to a claim, also if the first dispatch after it fails.
func TestNotificationLeadsToClaim(t *testing.T) {
	t.Parallel()
	p, free := startDispatch(start), freeStarters{healthy: true}
	p.notify(start, free, false, true)
	for i, step := range []struct {
		err  error
		want bool
	}{{errors.New("away"), false}, {nil, true}, {nil, false}} {
		if got := p.dispatched(start, 0, app.Dispatched{}, starting{free: free}, step.err); got != step.want {
			t.Errorf("dispatch %d: claim %v, want %v", i, got, step.want)
		}
	}
}

// A dispatch that takes long delays neither claims nor the takeover of abandoned deliveries.
func TestRelayClaimsDuringADispatch(t *testing.T) {
	r := &relayTest{queue: &queue{dispatchTakes: time.Minute}}
	r.run(t, func() {
		time.Sleep(100 * ms)
		r.change(func() {
			r.enqueue(1)
			r.abandoned = append(r.abandoned, r.claim())
		})
		time.Sleep(idlePoll)
		if started := r.starts(); len(started) != 2 {
			t.Errorf("started %q, want the queued and the abandoned delivery", started)
		}
	})
}

// A claim that takes long does not delay the next dispatch.
func TestRelayDispatchesDuringAClaim(t *testing.T) {
	r := &relayTest{queue: &queue{claimTakes: time.Minute}}
	r.run(t, func() {
		time.Sleep(100 * ms)
		r.change(func() { r.events = 1 })
		r.Wake()
		time.Sleep(ms)
		r.change(func() {
			if r.events > 0 {
				t.Error("the event is not dispatched while a claim runs")
			}
		})
	})
}
