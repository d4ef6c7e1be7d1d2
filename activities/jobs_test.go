package activities

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// replaying is a store with a bulk replay whose steps are given.
type replaying struct {
	JobStore

	steps []app.ReplayStep
	made  int
}

func (r *replaying) ContinueBulkReplay(
	context.Context, time.Time, app.StoreID, app.ReplayID, app.ReplayLimits,
) (app.ReplayStep, error) {
	r.made++
	if r.made > len(r.steps) {
		return app.ReplayStep{}, app.NotFound()
	}
	return r.steps[r.made-1], nil
}

func (r *replaying) CancelBulkReplay(
	context.Context, time.Time, app.StoreID, app.ReplayID, string,
) (app.BulkReplay, error) {
	return app.BulkReplay{}, app.NotFound()
}

// An execution makes a bounded number of steps, and none after one that decides nothing. A step whose events a filter
// excludes is followed by another one.
func TestContinueReplay(t *testing.T) {
	t.Parallel()
	running := func(replayed int64) app.ReplayStep {
		return app.ReplayStep{Status: app.ReplayRunning, Moved: true, Replayed: replayed, Decided: 200}
	}
	lists := app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 5000}
	excludes := app.ReplayStep{Status: app.ReplayRunning, Moved: true, Matched: 4800, Decided: 200}
	waits := app.ReplayStep{Status: app.ReplayRunning, Replayed: 200}
	waited := app.ReplayStep{Status: app.ReplayRunning, Moved: true, Replayed: 200}
	ended := app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Replayed: 300, Decided: 100}
	for name, test := range map[string]struct {
		steps []app.ReplayStep
		made  int
		want  app.ReplayStep
	}{
		"many": {
			[]app.ReplayStep{running(200), running(400), running(600), running(800), running(1000), running(1200)},
			5, running(1000),
		},
		"lists":                {[]app.ReplayStep{lists, lists}, 1, lists},
		"excludes":             {[]app.ReplayStep{excludes, excludes, ended}, 3, ended},
		"waits from the start": {[]app.ReplayStep{waits}, 1, waits},
		"completed":            {[]app.ReplayStep{running(200), ended, ended}, 2, ended},
		"waits":                {[]app.ReplayStep{running(200), waits}, 2, waited},
		"lost by a restore":    {nil, 1, app.ReplayStep{Status: app.ReplayCancelled}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &replaying{steps: test.steps}
			got, err := NewJobs(store, app.Retention{}, time.Now).ContinueReplay(t.Context(), ReplayInput{})
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil || store.made != test.made {
				t.Errorf("%d steps, %v, want %d steps (-want +got):\n%s", store.made, err, test.made, diff)
			}
		})
	}
}

// The cancelled workflow of a bulk replay that a restored database lacks ends.
func TestCancelLostReplay(t *testing.T) {
	t.Parallel()
	if err := NewJobs(&replaying{}, app.Retention{}, time.Now).CancelReplay(t.Context(), ReplayInput{}); err != nil {
		t.Error(err)
	}
}
