package workflows

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// A relay searches for queued deliveries immediately while batches are filled, rarely while limits of subscriptions
// hold deliveries back, and once a second otherwise.
func TestPauseAfterClaim(t *testing.T) {
	t.Parallel()
	limits := app.ClaimLimits{Batch: 64, SlowBatch: 16}
	empty, full := freeStarters{true, true, true}, freeStarters{}
	for name, test := range map[string]struct {
		healthy, others int
		more            bool
		free            freeStarters
		err             error
		want            time.Duration
	}{
		"nothing is queued":                           {0, 0, false, empty, nil, idlePoll},
		"all is claimed":                              {10, 3, false, empty, nil, idlePoll},
		"subscriptions have reached their limits":     {10, 3, true, empty, nil, busyPoll},
		"a full batch, little room":                   {64, 0, true, full, nil, idlePoll},
		"a full batch, and room":                      {64, 0, true, freeStarters{healthy: true}, nil, 0},
		"a full slow batch, no room":                  {0, 16, true, freeStarters{healthy: true}, nil, busyPoll},
		"a full slow batch, and room":                 {0, 16, true, freeStarters{others: true}, nil, 0},
		"limits are reached, and starters are busy":   {10, 3, true, full, nil, idlePoll},
		"a full batch was the last one":               {64, 0, false, freeStarters{healthy: true}, nil, idlePoll},
		"the database is away":                        {64, 16, true, empty, errors.New("away"), idlePoll},
		"nothing is claimed, because of other limits": {0, 0, true, empty, nil, busyPoll},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPacing(start)
			p.claimed(start, limits, test.healthy, test.others, test.more, test.err)
			if got := p.nextClaim(test.free).Sub(start); got != test.want {
				t.Errorf("%s: next claim in %s, want %s", name, got, test.want)
			}
		})
	}
}

// While nothing can be claimed, the pauses between searches grow.
func TestPausesGrowWithoutClaims(t *testing.T) {
	t.Parallel()
	p, at := startPacing(start), start
	free := freeStarters{true, true, true}
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
		t.Errorf("pause after a claim: %s, want %s", got, busyPoll)
	}
}

// After deliveries have waited, the next ones become bursts before they wait, until few of them arrive.
func TestOverload(t *testing.T) {
	t.Parallel()
	limits := app.ClaimLimits{Burst: 32, BurstAfter: 250 * ms}
	claims := func(n int) (claims []app.Claim) {
		for range n {
			claims = append(claims, app.Claim{Healthy: true, Quick: true})
		}
		return claims
	}
	waiting := app.Claimed{Waited: time.Second}
	// after returns the claims of an overload and of n seconds after it.
	after := func(n int, found app.Claimed) []app.Claimed {
		return append([]app.Claimed{waiting}, slices.Repeat([]app.Claimed{found}, n)...)
	}
	off := app.ClaimLimits{BurstAfter: 250 * ms}
	for name, test := range map[string]struct {
		limits app.ClaimLimits
		found  []app.Claimed // one each second
		want   bool
	}{
		"nothing has waited":         {limits, []app.Claimed{{Waited: 249 * ms}}, false},
		"deliveries have waited":     {limits, []app.Claimed{{Waited: 250 * ms}}, true},
		"bursts are off":             {off, []app.Claimed{waiting}, false},
		"five seconds ago":           {limits, after(5, app.Claimed{}), false},
		"few deliveries":             {limits, after(5, app.Claimed{Claims: claims(24)}), false},
		"many deliveries":            {limits, []app.Claimed{{Claims: claims(25)}}, true},
		"many deliveries afterwards": {limits, after(9, app.Claimed{Claims: claims(25)}), true},
	} {
		t.Run(name, func(t *testing.T) {
			var o overload
			at := start
			for i, found := range test.found {
				at = start.Add(time.Duration(i) * time.Second)
				o.claimed(at, test.limits, found)
			}
			got := o.limit(at, test.limits)
			want := test.limits
			if test.want {
				want.BurstAfter, want.BurstLeast = 0, overloadBatch
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

// A relay is overloaded by the rate of first deliveries to healthy, quick webhooks, before any of them has waited.
func TestOverloadByRate(t *testing.T) {
	t.Parallel()
	prompt := app.Claim{Healthy: true, Quick: true}
	for name, test := range map[string]struct {
		claim app.Claim
		every time.Duration
		after time.Duration // 0 = never
	}{
		"50/s":       {prompt, 20 * ms, 0},
		"90/s":       {prompt, 11 * ms, 0},
		"200/s":      {prompt, 5 * ms, 120 * ms},
		"500/s":      {prompt, 2 * ms, 48 * ms},
		"replays":    {app.Claim{Healthy: true, Quick: true, Replay: true}, ms, 0},
		"to failing": {app.Claim{Quick: true}, ms, 0},
		"to slow":    {app.Claim{Healthy: true}, ms, 0},
	} {
		t.Run(name, func(t *testing.T) {
			o := overload{since: start}
			var after time.Duration
			for at := time.Duration(0); at < 10*time.Second && after == 0; at += test.every {
				o.claimed(start.Add(at), app.ClaimLimits{Burst: 32, BurstAfter: 30 * ms}, app.Claimed{
					Claims: []app.Claim{test.claim}, Waited: 5 * ms,
				})
				if o.at(start.Add(at)) {
					after = at
				}
			}
			if after != test.after {
				t.Errorf("%s: overloaded after %s, want %s (0 = never)", name, after, test.after)
			}
		})
	}
}
