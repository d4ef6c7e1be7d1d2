package workflows

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

var watchdogInput = JobInput{
	StoreID: "sto_1", Subject: "whk_1", Policy: JobPolicy{Watchdog: app.WatchdogPolicy{Day: 24 * time.Hour, Days: 7}},
}

// watchdogRun runs a watchdog from a time on. tick is its activity.
func watchdogRun(
	t *testing.T, from time.Time, tick func(now time.Time) (app.Watched, error),
) *testsuite.TestWorkflowEnvironment {
	env := environment()
	env.SetStartTime(from)
	env.RegisterWorkflowWithOptions(Watchdog, workflow.RegisterOptions{Name: string(app.JobWatchdog)})
	env.RegisterActivityWithOptions(func(_ context.Context, in activities.TickWatchdogInput) (app.Watched, error) {
		if in.StoreID != "sto_1" || in.SubscriptionID != "whk_1" || in.Policy != watchdogInput.Policy.Watchdog {
			t.Errorf("input of a tick %+v, want whk_1 of sto_1 with its policy", in)
		}
		return tick(env.Now())
	}, activity.RegisterOptions{Name: activityTickWatchdog})
	return env
}

// response is one attempt within a year.
type response struct {
	at time.Time
	ok bool
}

// receiver simulates the database's view of one receiver.
type receiver struct {
	responses []response
	watch     app.Watch
	active    bool
}

// tick simulates the tick of the database.
func (r *receiver) tick(now time.Time) (app.Watched, error) {
	var failures []time.Time
	for _, a := range r.responses {
		switch {
		case a.at.After(now):
		case a.ok:
			failures = nil
		default:
			failures = append(failures, a.at)
		}
	}
	if len(failures) == 0 {
		return app.Watched{Ended: app.WatchHealthy}, nil
	}
	if !r.watch.Since.Equal(failures[0]) {
		r.watch = app.Watch{Since: failures[0], Until: failures[0]}
	}
	tick, err := watchdogInput.Policy.Watchdog.Tick(r.watch, now, func(from time.Time) (time.Time, bool, error) {
		for _, f := range failures {
			if !f.Before(from) {
				return f, true, nil
			}
		}
		return time.Time{}, false, nil
	})
	r.watch = tick.Watch
	watched := app.Watched{
		Days: tick.Watch.Days, Since: tick.Watch.Since, Failures: int64(len(failures)), NextIn: tick.Next.Sub(now),
	}
	if tick.Deactivate {
		r.active, watched.Ended, watched.NextIn = false, app.WatchDeactivated, 0
	}
	return watched, err
}

// year returns a year of attempts to a receiver that alternates between working and failing for days.
func year(random *rand.Rand) (responses []response) {
	for at, ok := start, true; at.Before(start.AddDate(1, 0, 0)); {
		if random.Float64() < map[bool]float64{true: .05, false: .18}[ok] {
			ok = !ok
		}
		responses = append(responses, response{at, ok})
		pause := time.Duration(random.ExpFloat64() * float64(10*time.Hour))
		at = at.Add(pause).Truncate(time.Millisecond).Add(time.Millisecond)
	}
	return responses
}

// expected returns, independently of the watchdog, the time at which a receiver is deactivated: the end of the seventh
// day with a failure in a streak, where days are counted from the start of the streak. It is zero if that never
// happens.
func expected(responses []response) time.Time {
	for i := 0; i < len(responses); i++ {
		if responses[i].ok {
			continue
		}
		begin, days := responses[i].at, map[time.Duration]bool{}
		last := begin.AddDate(10, 0, 0)
		end := slices.IndexFunc(responses[i:], func(a response) bool { return a.ok })
		if end >= 0 {
			last = responses[i+end].at
		} else {
			end = len(responses) - i
		}
		for _, a := range responses[i : i+end] {
			days[a.at.Sub(begin)/(24*time.Hour)] = true
			if len(days) == 7 {
				if over := begin.Add((a.at.Sub(begin)/(24*time.Hour) + 1) * 24 * time.Hour); over.Before(last) {
					return over
				}
				break
			}
		}
		i += end
	}
	return time.Time{}
}

// Years of random failures in virtual time: each receiver is deactivated at the time that the model predicts,
// regardless of earlier watchdogs.
func TestWatchdogOverAYear(t *testing.T) {
	t.Parallel()
	deactivated := 0
	for seed := range uint64(40) {
		r := &receiver{responses: year(rand.New(rand.NewPCG(seed, 1))), active: true}
		want, got := expected(r.responses), time.Time{}
		for free := start; r.active; { // a watchdog starts with the first failure after the previous one ended
			i := slices.IndexFunc(r.responses, func(a response) bool { return !a.ok && a.at.After(free) })
			if i < 0 {
				break
			}
			env := watchdogRun(t, r.responses[i].at, func(now time.Time) (app.Watched, error) {
				// a receiver without attempts is watched forever
				if free = now; now.After(start.AddDate(1, 0, 7)) {
					return app.Watched{Ended: app.WatchDeleted}, nil
				}
				return r.tick(now)
			})
			env.ExecuteWorkflow(string(app.JobWatchdog), watchdogInput)
			var last app.Watched
			if err := env.GetWorkflowResult(&last); err != nil {
				t.Fatal(err)
			}
			if last.Ended == app.WatchDeactivated {
				got = free
			}
		}
		if !want.Equal(got) {
			t.Errorf("seed %d: deactivated at %v, want %v", seed, got, want)
		}
		if !got.IsZero() {
			deactivated++
		}
	}
	if deactivated < 5 || deactivated > 35 {
		t.Errorf("%d of 40 receivers were deactivated, want 5 to 35 for varied years", deactivated)
	}
}

// A tick is repeated while the database is unreachable. The query returns the last tick.
func TestWatchdogRepeatsTick(t *testing.T) {
	t.Parallel()
	var at []time.Duration
	env := watchdogRun(t, start, func(now time.Time) (app.Watched, error) {
		at = append(at, now.Sub(start))
		switch len(at) {
		case 2, 3:
			return app.Watched{}, errors.New("the database is away")
		case 5:
			return app.Watched{Ended: app.WatchHealthy}, nil
		}
		return app.Watched{Days: len(at), NextIn: 24 * time.Hour}, nil
	})
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(QueryState)
		var state app.Watched
		if err != nil || value.Get(&state) != nil || state.Days != 1 {
			t.Errorf("state %+v, %v, want 1 day", state, err)
		}
	}, time.Hour)
	env.ExecuteWorkflow(string(app.JobWatchdog), watchdogInput)
	day := 24 * time.Hour
	want := []time.Duration{0, day, day + time.Second, day + 3*time.Second, 2*day + 3*time.Second}
	if diff := cmp.Diff(want, at); diff != "" || env.GetWorkflowError() != nil {
		t.Errorf("error %v, times of the ticks (-want +got):\n%s", env.GetWorkflowError(), diff)
	}
}

// A streak that begins while its watchdog is about to end is watched.
func TestWatchdogSignalledAtEnd(t *testing.T) {
	t.Parallel()
	ticks := 0
	var env *testsuite.TestWorkflowEnvironment
	env = watchdogRun(t, start, func(time.Time) (app.Watched, error) {
		if ticks++; ticks == 1 {
			env.SignalWorkflow(signalWatch, nil) // the signal of the next start arrives between decision and end
		}
		return app.Watched{Ended: app.WatchHealthy}, nil
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(signalWatch, nil) }, 0) // the signal of its own start
	env.ExecuteWorkflow(string(app.JobWatchdog), watchdogInput)
	if ticks != 2 || env.GetWorkflowError() != nil {
		t.Errorf("%d ticks, error %v, want 2 without error", ticks, env.GetWorkflowError())

	}
}
