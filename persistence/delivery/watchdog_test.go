package delivery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var week = app.WatchdogPolicy{Day: 24 * time.Hour, Days: 7}

// tester is a test or one run of a property test.
type tester interface {
	rapid.TB
	Context() context.Context
}

// respond records one attempt at each time, with the given HTTP status.
func respond(
	t tester, db *persistencetest.Database, store app.StoreID, s app.SubscriptionID, code int, at ...time.Time,
) {
	t.Helper()
	for _, at := range at {
		made := app.MadeAttempt{
			DeliveryID: app.NewID[app.DeliveryID](at), Number: 1, Status: app.AttemptDelivered, StatusCode: code,
			At: at,
			Outgoing: app.Outgoing{
				StoreID: store, SubscriptionID: s, EventID: app.NewID[app.EventID](at),
				EventType: app.EventOrderCreated,
			},
		}
		if code >= 300 {
			made.Status = app.AttemptDeadLetter
		}
		if _, err := db.RecordAttempt(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
}

func watchdogJobs(t *testing.T, db *persistencetest.Database) int {
	t.Helper()
	return count(t, db, "SELECT count(*) FROM jobs WHERE kind = 'watchdog'")
}

// A failure enqueues a watchdog if the subscription has none. Other attempts do not.
func TestFailureEnqueuesWatchdog(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	want := func(jobs int, after string) {
		t.Helper()
		if got := watchdogJobs(t, db); got != jobs {
			t.Errorf("watchdogs after %s: got %d, want %d", after, got, jobs)
		}
	}
	respond(t, db, store, s, 200, noon)
	want(0, "a success")
	respond(t, db, store, s, 503, noon, noon.Add(time.Minute))
	respond(t, db, store, s, 200, noon.Add(2*time.Minute))
	respond(t, db, store, s, 503, noon.Add(3*time.Minute))
	want(1, "two streaks under one watchdog")
	jobs, err := db.ClaimJobs(t.Context(), noon, app.JobClaim{Limit: 10, PerQueue: 10, Lease: time.Minute})
	must(t, err)
	if len(jobs) != 1 || jobs[0].Kind != app.JobWatchdog || jobs[0].Subject != string(s) || jobs[0].StoreID != store {
		t.Errorf("jobs: got %+v, want one watchdog of %s", jobs, s)
	}
	if tick, err := db.TickWatchdog(t.Context(), noon.Add(time.Hour), store, s, week); err != nil ||
		tick.NextIn != 23*time.Hour+3*time.Minute {
		t.Errorf("tick: got %+v and error %v, want the next one in 23h3m", tick, err)
	}
	respond(t, db, store, s, 503, noon.Add(25*time.Hour))
	want(1, "a failure while the tick is less than an hour late")
	respond(t, db, store, s, 503, noon.Add(26*time.Hour), noon.Add(26*time.Hour))
	want(2, "a failure after the watchdog counts as lost")
	respond(t, db, store, s, 200, noon.Add(27*time.Hour))
	if tick, err := db.TickWatchdog(t.Context(), noon.Add(48*time.Hour), store, s, week); err != nil ||
		tick.Ended != app.WatchHealthy {
		t.Errorf("tick: got %+v and error %v, want %s", tick, err, app.WatchHealthy)
	}
	respond(t, db, store, s, 503, noon.Add(49*time.Hour))
	want(3, "the watchdog's end")
}

// After seven days with failures, and warnings, the watchdog deactivates the webhook and records it in
// the audit trail. A repeated tick changes nothing.
func TestWatchdogDeactivates(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	mails := mailing(t, db)
	day := func(n float64) time.Time { return noon.Add(time.Duration(n * float64(24*time.Hour))) }
	var got []string
	for n := range 9 {
		if n != 4 { // a day without attempts
			respond(t, db, store, s, 503, day(float64(n)), day(float64(n)+.5))
		}
		for range 2 {
			tick, err := mails.TickWatchdog(t.Context(), day(float64(n+1)), store, s, week)
			must(t, err)
			got = append(got, fmt.Sprintf("%d %v %s %v", tick.Days, tick.Warned, tick.Ended, tick.NextIn))
		}
		shown, err := db.Subscription(t.Context(), store, s)
		must(t, err)
		if want := []int{1, 2, 3, 4, 4, 5, 6, 7, 7}[n]; shown.FailingDays != want || shown.IsActive != (n < 7) ||
			!shown.FailingSince.Equal(noon) {
			t.Errorf("subscription after %d days: got %+v, want %d failing days since %s", n+1, shown, want, noon)
		}
	}
	want := []string{
		"1 true  24h0m0s", "1 false  24h0m0s", "2 false  24h0m0s", "2 false  24h0m0s", "3 true  24h0m0s",
		"3 false  24h0m0s",
		"4 false  24h0m0s", "4 false  24h0m0s", "4 false  24h0m0s", "4 false  24h0m0s", "5 true  24h0m0s",
		"5 false  24h0m0s",
		"6 true  24h0m0s", "6 false  24h0m0s", "7 false deactivated 0s", "0 false inactive 0s", "0 false inactive 0s",
		"0 false inactive 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ticks (-want +got):\n%s", diff)
	}
	var actor, target string
	var failures, days int
	err := db.System().DB.QueryRowContext(t.Context(), `SELECT actor_realm || actor_id, target, details->>'failures',
		details->>'failingDays'
		FROM audit WHERE action = 'webhook.deactivated'`).Scan(&actor, &target, &failures, &days)
	if err != nil || actor != "" || target != string(s) || failures != 14 || days != 7 {
		t.Errorf("audit: got actor %q, target %s, %d failures on %d days, error %v, want %s with 14 on 7", actor,
			target, failures, days, err, s)
	}
	var sent string
	must(t, db.System().DB.QueryRowContext(t.Context(), `
		SELECT string_agg(kind || ' ' || (details->>'day') || ' ' || (details->>'failures'), ', ' ORDER BY id)
		FROM mails WHERE subject = $1 AND recipient = $2`, s, r.Owner.ID).Scan(&sent))
	wantSent := "webhook_warning 1 2, webhook_warning 3 6, webhook_warning 5 10, webhook_warning 6 12, " +
		"webhook_deactivated 7 14"
	if sent != wantSent {
		t.Errorf("mails: got %s, want %s", sent, wantSent)
	}
	if n := count(t, db, "SELECT count(*) FROM audit WHERE action = 'webhook.deactivated'"); n != 1 {
		t.Errorf("audit entries: got %d, want 1", n)
	}
}

// A watchdog ends if its subscription is inactive, deleted or healthy. Another store cannot tick it.
func TestWatchdogEnds(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	respond(t, db, store, s, 503, noon)
	ended := func(store app.StoreID, want app.WatchEnd) {
		t.Helper()
		tick, err := db.TickWatchdog(t.Context(), noon, store, s, week)
		if err != nil || tick.Ended != want {
			t.Errorf("tick: got %+v and error %v, want end %q", tick, err, want)
		}
	}
	change := func(statement string) {
		t.Helper()
		_, err := db.System().DB.ExecContext(t.Context(), statement)
		must(t, err)
	}
	ended(store, "")
	ended(r.Stores[1], app.WatchDeleted)
	change("UPDATE subscriptions SET is_active = false")
	ended(store, app.WatchInactive)
	change("UPDATE subscriptions SET deleted_at = now()")
	ended(store, app.WatchDeleted)
	change("UPDATE subscriptions SET deleted_at = NULL, is_active = true")
	change("UPDATE subscription_health SET failure_count = 0, failing_since = NULL")
	ended(store, app.WatchHealthy)
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE watch_at IS NULL"); n != 1 {
		t.Errorf("subscriptions without a watchdog: got %d, want 1", n)
	}
}

// TestWatchdogModel compares weeks of random responses and ticks with a model that recounts all
// failures at each tick.
func TestWatchdogModel(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	rapid.Check(t, func(t *rapid.T) {
		for _, statement := range []string{
			"DELETE FROM attempts", "UPDATE subscriptions SET is_active = true",
			`UPDATE subscription_health SET failure_count = 0, failing_since = NULL, watch_at = NULL,
				watched_since = NULL, watched_until = NULL, failing_days = 0`,
		} {
			if _, err := db.System().DB.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		policy := app.WatchdogPolicy{Day: 24 * time.Hour, Days: rapid.IntRange(1, 4).Draw(t, "days")}
		now := noon
		var failures []time.Time // of the current streak
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "hours")) * time.Hour)
			switch rapid.SampledFrom([]string{"fail", "fail", "fail", "tick", "tick", "tick", "succeed"}).
				Draw(t, "what") {
			case "fail":
				respond(t, db, store, s, 503, now)
				failures = append(failures, now)
			case "succeed":
				respond(t, db, store, s, 200, now)
				failures = nil
			case "tick":
				tick, err := db.TickWatchdog(t.Context(), now, store, s, policy)
				if err != nil {
					t.Fatal(err)
				}
				days, ended := modelled(failures, now, policy)
				if tick.Days != days || tick.Ended != ended {
					t.Fatalf("tick: got %+v, want %d days and end %q", tick, days, ended)
				}
				if ended == app.WatchDeactivated {
					return
				}
			}
		}
	})
}

// modelled counts the completed days of a streak that contain a failure.
func modelled(failures []time.Time, now time.Time, policy app.WatchdogPolicy) (days int, ended app.WatchEnd) {
	if len(failures) == 0 {
		return 0, app.WatchHealthy
	}
	for begin := failures[0]; !begin.Add(policy.Day).After(now); begin = begin.Add(policy.Day) {
		for _, f := range failures {
			if !f.Before(begin) && f.Before(begin.Add(policy.Day)) {
				days++
				break
			}
		}
		if days == policy.Days {
			return days, app.WatchDeactivated
		}
	}
	return days, ""
}
