package workflows

import (
	"errors"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// A relay looks for queued deliveries immediately while batches are filled, rarely while
// limits of subscriptions hold deliveries back, and once a second otherwise.
func TestPauseAfterAClaim(t *testing.T) {
	t.Parallel()
	limits := app.ClaimLimits{Batch: 64, SlowBatch: 16}
	empty, full := rooms{true, true}, rooms{}
	for name, test := range map[string]struct {
		healthy, others int
		more            bool
		free            rooms
		err             error
		want            time.Duration
	}{
		"nothing is queued":                           {0, 0, false, empty, nil, idlePoll},
		"all is claimed":                              {10, 3, false, empty, nil, idlePoll},
		"subscriptions have reached their limits":     {10, 3, true, empty, nil, busyPoll},
		"a full batch, no room":                       {64, 0, true, full, nil, idlePoll},
		"a full batch, and room":                      {64, 0, true, rooms{healthy: true}, nil, 0},
		"a full slow batch, no room":                  {0, 16, true, rooms{healthy: true}, nil, busyPoll},
		"a full slow batch, and room":                 {0, 16, true, rooms{others: true}, nil, 0},
		"limits are reached, and starters are busy":   {10, 3, true, full, nil, idlePoll},
		"a full batch was the last one":               {64, 0, false, rooms{healthy: true}, nil, idlePoll},
		"the database is away":                        {64, 16, true, empty, errors.New("away"), idlePoll},
		"nothing is claimed, because of other limits": {0, 0, true, empty, nil, busyPoll},
	} {
		p := startPacing(start)
		p.claimed(start, limits, test.healthy, test.others, test.more, test.err)
		if got := p.nextClaim(test.free).Sub(start); got != test.want {
			t.Errorf("%s: next claim in %s, want %s", name, got, test.want)
		}
	}
}

// While nothing can be claimed, the searches become rare.
func TestPausesGrowWhileNothingCanBeClaimed(t *testing.T) {
	t.Parallel()
	p, at := startPacing(start), start
	free := rooms{true, true}
	limits := app.ClaimLimits{Batch: 64, SlowBatch: 16}
	for _, want := range []time.Duration{25 * ms, 50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, idlePoll, idlePoll} {
		p.claimed(at, limits, 0, 0, true, nil)
		if got := p.nextClaim(free).Sub(at); got != want {
			t.Errorf("pause %s, want %s", got, want)
		}
		at = p.nextClaim(free)
	}
	p.claimed(at, limits, 1, 0, true, nil)
	if got := p.nextClaim(free).Sub(at); got != busyPoll {
		t.Errorf("pause %s after a claim, want %s", got, busyPoll)
	}
}

func TestDispatches(t *testing.T) {
	t.Parallel()
	free, busy := rooms{healthy: true}, rooms{}
	for name, test := range map[string]struct {
		events int
		free   rooms
		err    error
		woken  bool
		want   time.Duration
	}{
		"no events":                       {0, free, nil, false, idlePoll},
		"no events, then woken":           {0, free, nil, true, 10 * ms},
		"no events, then woken, busy":     {0, busy, nil, true, busyPoll},
		"a full batch":                    {dispatchLimit, free, nil, false, 0},
		"a full batch, starters are busy": {dispatchLimit, busy, nil, false, busyPoll},
		"the database is away":            {0, free, errors.New("away"), false, idlePoll},
	} {
		p := startPacing(start)
		p.dispatched(start, test.events, test.free, test.err)
		if test.woken {
			p.woken(start.Add(10*ms), test.free)
		}
		if got := p.dispatchAt.Sub(start); got != test.want {
			t.Errorf("%s: next dispatch after %s, want %s", name, got, test.want)
		}
	}
}
