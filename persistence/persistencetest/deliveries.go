package persistencetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Limits are claim limits that tests do not reach.
var Limits = app.ClaimLimits{
	Batch: 100, SlowBatch: 100, Unproven: 200, Quick: 200, Slow: 50, Lease: time.Minute,
}

// Subscribe creates a subscription of a store.
func (r Restaurant) Subscribe(t testing.TB, db *Database, store int, events ...app.EventType) app.Subscription {
	t.Helper()
	s, err := db.CreateSubscription(t.Context(), Noon, r.Stores[store], app.Actor{}, app.NewSubscription{
		URL: "https://receiver.example/hook", Events: events, Secret: app.NewSecret("0123456789abcdef0123456789abcdef"),
	}, nil)
	Must(t, err)
	return s
}

// Claim dispatches all events and claims all deliveries that may start.
func Claim(t testing.TB, db *Database) []app.Claim {
	t.Helper()
	_, err := db.Dispatch(t.Context(), Noon, 1000)
	Must(t, err)
	claimed, err := db.Claim(t.Context(), Noon, Limits)
	Must(t, err)
	return claimed.Claims
}

// TakeJobs finishes all jobs that can be claimed at a time without starting them. It returns them in the order in which
// they were enqueued.
func TakeJobs(t testing.TB, db *Database, now time.Time) (taken []app.Job) {
	t.Helper()
	for _, urgent := range []bool{true, false} {
		for more := true; more; {
			jobs, err := db.ClaimJobs(t.Context(), now,
				app.JobClaim{Urgent: urgent, Limit: 1000, PerQueue: 1000, Lease: time.Minute})
			Must(t, err)
			for _, job := range jobs {
				Must(t, db.FinishJobs(t.Context(), []app.JobID{job.ID}))
			}
			taken, more = append(taken, jobs...), len(jobs) > 0
		}
	}
	slices.SortFunc(taken, func(a, b app.Job) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return taken
}

// Attempt records an attempt. Its time is as many hours after Noon as its number.
func Attempt(t testing.TB, db *Database, id app.DeliveryID, number int, status app.AttemptStatus, took time.Duration) {
	t.Helper()
	outgoing, err := db.Outgoing(t.Context(), id, number)
	Must(t, err)
	made := app.MadeAttempt{
		DeliveryID: id, Outgoing: outgoing, Number: number, Status: status, StatusCode: 200,
		At: Noon.Add(time.Duration(number) * time.Hour), Duration: took,
	}
	if status != app.AttemptDelivered {
		made.StatusCode, made.Error = 503, "HTTP 503"
	}
	if status == app.AttemptRetrying {
		made.RetryIn = 30 * time.Second
	}
	_, err = db.RecordAttempt(t.Context(), made)
	Must(t, err)
}

// InsertEvent is the statement that inserts an undispatched event.
var InsertEvent = Undispatched(
	"INSERT INTO outbox (id, store_id, type, body, occurred_at) VALUES ($1, $2, $3, $4, $5)")

// Undispatched returns a statement that also marks the events that an INSERT INTO outbox inserts as not dispatched.
func Undispatched(insert string) string {
	return "WITH event AS (" + insert + ` RETURNING id, number, store_id, type, occurred_at)
		INSERT INTO undispatched (queue, store_id, number, event_id, type, occurred_at)
		SELECT store_queue(store_id), store_id, number, id, type, occurred_at FROM event`
}
