package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

var owner = app.Actor{Realm: app.RealmTenant, ID: "usr_1", Address: "192.0.2.1", RequestID: "req_1"}

// trail returns what was done to a target, in turn.
func trail(t *testing.T, db *persistencetest.Database, target string) (entries []string) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(), "SELECT action || ' by ' || actor_id || ' ' || details FROM audit WHERE target = $1 ORDER BY at, id", target)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var entry string
		must(t, rows.Scan(&entry))
		entries = append(entries, entry)
	}
	must(t, rows.Err())
	return entries
}

func TestChangingASubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	later := noon.Add(time.Hour)
	url, on, off := "https://elsewhere.example/hook", true, false
	change := func(c app.SubscriptionChange, version int64) app.Subscription {
		t.Helper()
		changed, err := db.ChangeSubscription(t.Context(), later, r.Stores[0], owner, s.ID, c, version)
		must(t, err)
		later = later.Add(time.Second)
		return changed
	}
	same := change(app.SubscriptionChange{URL: &s.URL, Events: s.Events, IsActive: &on}, 1)
	if diff := cmp.Diff(s, same); diff != "" {
		t.Error("a change of nothing:", diff)
	}
	want := s
	want.URL, want.Events, want.Version, want.UpdatedAt = url, []app.EventType{app.EventOrderCancelled, app.EventOrderCreated}, 2, app.At(later)
	if diff := cmp.Diff(want, change(app.SubscriptionChange{URL: &url, Events: want.Events}, 1)); diff != "" {
		t.Error(diff)
	}
	if _, err := db.ChangeSubscription(t.Context(), later, r.Stores[0], owner, s.ID, app.SubscriptionChange{IsActive: &off}, 1); app.CodeOf(err) != app.CodeVersionMismatch {
		t.Errorf("an old version: %v", err)
	}

	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	attempt(t, db, id, 1, app.AttemptRetrying, 0)
	if c := change(app.SubscriptionChange{IsActive: &on}, 0); c.FailureCount != 1 {
		t.Errorf("%d failures: turning on what is on is no change", c.FailureCount)
	}
	if c := change(app.SubscriptionChange{IsActive: &off}, 0); c.FailureCount != 1 || c.IsActive || c.Version != 3 {
		t.Errorf("turned off: %+v", c)
	}
	if c := change(app.SubscriptionChange{IsActive: &on}, 3); c.FailureCount != 0 || !c.IsActive {
		t.Errorf("turned on again: %+v", c)
	}
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE failing_since IS NOT NULL"); n != 0 {
		t.Error("it still counts as failing")
	}
	diff := cmp.Diff([]string{
		`webhook.created by  {"host": "receiver.example", "events": ["order.created"]}`,
		`webhook.changed by usr_1 {"host": {"to": "elsewhere.example", "from": "receiver.example"}, "events": {"to": ["order.cancelled", "order.created"], "from": ["order.created"]}}`,
		`webhook.deactivated by usr_1 {}`, `webhook.reactivated by usr_1 {}`,
	}, trail(t, db, string(s.ID)))
	if diff != "" {
		t.Error(diff)
	}
}

// What was under way or queued when a subscription was deleted ends as cancelled, and why is
// said; nothing new begins.
func TestDeletingASubscription(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 5)
	claims := claim(t, db)
	attempt(t, db, claims[0].ID, 1, app.AttemptDelivered, 0)
	attempt(t, db, claims[1].ID, 1, app.AttemptRetrying, 0)
	attempt(t, db, claims[2].ID, 1, app.AttemptDeadLetter, 0)
	attempt(t, db, claims[3].ID, 1, app.AttemptDeadLetter, 0)
	_, err := db.Replay(t.Context(), noon, r.Stores[0], owner, claims[3].ID) // queued, with a workflow that waits
	must(t, err)
	r.Place(t, db, 3)
	_, err = db.Dispatch(t.Context(), noon, 100) // queued, without
	must(t, err)

	must(t, db.DeleteSubscription(t.Context(), noon.Add(time.Second), r.Stores[0], owner, s.ID, 1))
	if err := db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s.ID, 0); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("deleted twice: %v", err)
	}
	r.Place(t, db, 1)
	if claims := claim(t, db); len(claims) != 0 {
		t.Errorf("claimed %+v", claims)
	}
	if outgoing, err := db.Outgoing(t.Context(), claims[1].ID, 2); err != nil || !outgoing.Deleted {
		t.Errorf("outgoing %+v, %v", outgoing, err)
	}
	jobs, err := db.ClaimJobs(t.Context(), noon.Add(time.Second), time.Minute, 10)
	must(t, err)
	if len(jobs) != 1 || jobs[0].Kind != app.JobTeardown || jobs[0].Subject != string(s.ID) || jobs[0].StoreID != r.Stores[0] {
		t.Errorf("jobs %+v", jobs)
	}

	for _, want := range []int{2, 1, 0} {
		if n, err := db.CancelQueued(t.Context(), noon, r.Stores[0], s.ID, 2); err != nil || n != want {
			t.Errorf("%d queued ones cancelled, want %d, %v", n, want, err)
		}
	}
	all, err := db.OpenDeliveries(t.Context(), r.Stores[0], s.ID, "", 100)
	must(t, err)
	if len(all) != 4 {
		t.Fatalf("open: %+v", all)
	}
	some, err := db.OpenDeliveries(t.Context(), r.Stores[0], s.ID, all[0].ID, 2)
	must(t, err)
	if diff := cmp.Diff(all[1:3], some); diff != "" {
		t.Error("the second batch:", diff)
	}
	for _, one := range all {
		must(t, db.EndDelivery(t.Context(), noon, one.ID, app.DeliveryCancelled, app.ReasonCancelled))
	}
	deliveries, err := db.Deliveries(t.Context(), r.Stores[0], app.DeliveryFilter{SubscriptionID: s.ID}, "", 100)
	must(t, err)
	got := map[string]int{}
	for _, d := range deliveries {
		got[fmt.Sprintf("%s: %s", d.Status, d.Reason)]++
	}
	if diff := cmp.Diff(map[string]int{"delivered: ": 1, "cancelled: subscription deleted": 7}, got); diff != "" {
		t.Error(diff)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts WHERE status = 'retrying'"); n != 0 {
		t.Error("an attempt waits for a retry that does not come")
	}
	if diff := cmp.Diff(`webhook.deleted by usr_1 {"host": "receiver.example"}`, trail(t, db, string(s.ID))[1]); diff != "" {
		t.Error(diff)
	}
}

func TestRotatingASecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	rotate := func(secret string, overlap time.Duration, at time.Time) app.Subscription {
		t.Helper()
		rotated, err := db.RotateSecret(t.Context(), at, r.Stores[0], owner, s.ID, app.NewSecret(secret), overlap, 0)
		must(t, err)
		return rotated
	}
	check := func(present, previous string) {
		t.Helper()
		o, err := db.Outgoing(t.Context(), id, 1)
		must(t, err)
		if o.Secret.Reveal() != present || o.PreviousSecret.Reveal() != previous {
			t.Errorf("signed with %q and %q, want %q and %q", o.Secret.Reveal(), o.PreviousSecret.Reveal(), present, previous)
		}
	}
	const first = "0123456789abcdef0123456789abcdef"
	now := time.Now()
	rotated := rotate("second", time.Hour, now)
	if rotated.Version != 2 || rotated.PreviousSecretExpiresAt == nil || !rotated.PreviousSecretExpiresAt.Equal(app.At(now).Add(time.Hour)) {
		t.Errorf("rotated: %+v", rotated)
	}
	check("second", first)
	if again := rotate("second", 0, now); again.Version != 2 {
		t.Errorf("the same secret again: %+v", again)
	}
	check("second", first)
	rotate("third", time.Hour, now)
	check("third", "second")
	if ended := rotate("fourth", 0, now); ended.PreviousSecretExpiresAt != nil {
		t.Errorf("without an overlap: %+v", ended)
	}
	check("fourth", "")
	rotate("fifth", time.Minute, now.Add(-time.Hour)) // over by now
	check("fifth", "")
	if n := count(t, db, "SELECT count(*) FROM subscriptions WHERE previous_secret IS NOT NULL OR previous_secret_until IS NOT NULL"); n != 0 {
		t.Error("a secret that is no longer good is kept")
	}
	if n := len(trail(t, db, string(s.ID))); n != 1+4 {
		t.Errorf("%d entries for the creation and 4 rotations", n)
	}
}
