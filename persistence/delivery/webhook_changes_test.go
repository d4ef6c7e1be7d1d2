package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// trail returns the audit entries of a target, oldest first.
func trail(t *testing.T, db *persistencetest.Database, target string) (entries []string) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(), `SELECT action || ' by ' || actor_id || ' ' || details
		FROM audit WHERE target = $1 ORDER BY at, id`, target)
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

func TestChangeSubscription(t *testing.T) {
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
		t.Error("subscription after a change without differences (-before +after):", diff)
	}
	want := s
	want.URL, want.Events, want.Version, want.UpdatedAt = url,
		[]app.EventType{app.EventOrderCancelled, app.EventOrderCreated}, 2, app.At(later)
	if diff := cmp.Diff(want, change(app.SubscriptionChange{URL: &url, Events: want.Events}, 1)); diff != "" {
		t.Errorf("changed subscription (-want +got):\n%s", diff)
	}
	_, err := db.ChangeSubscription(t.Context(), later, r.Stores[0], owner, s.ID,
		app.SubscriptionChange{IsActive: &off}, 1)
	if app.CodeOf(err) != app.CodeVersionMismatch {
		t.Errorf("change of an old version: got error %v, want %s", err, app.CodeVersionMismatch)
	}

	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	attempt(t, db, id, 1, app.AttemptRetrying, 0)
	if c := change(app.SubscriptionChange{IsActive: &on}, 0); c.FailureCount != 1 {
		t.Errorf("failures after activating an active subscription: got %d, want 1", c.FailureCount)
	}
	if c := change(app.SubscriptionChange{IsActive: &off}, 0); c.FailureCount != 1 || c.IsActive || c.Version != 3 {
		t.Errorf("deactivated: got %+v, want 1 failure, inactive, version 3", c)
	}
	if c := change(app.SubscriptionChange{IsActive: &on}, 3); c.FailureCount != 0 || !c.IsActive {
		t.Errorf("reactivated: got %+v, want no failures, active", c)
	}
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE failing_since IS NOT NULL"); n != 0 {
		t.Errorf("failing subscriptions: got %d, want 0", n)
	}
	diff := cmp.Diff([]string{
		`webhook.created by  {"host": "receiver.example", "events": ["order.created"]}`,
		`webhook.changed by usr_1 {"host": {"to": "elsewhere.example", "from": "receiver.example"}, ` +
			`"events": {"to": ["order.cancelled", "order.created"], "from": ["order.created"]}}`,
		`webhook.deactivated by usr_1 {}`, `webhook.reactivated by usr_1 {}`,
	}, trail(t, db, string(s.ID)))
	if diff != "" {
		t.Errorf("audit entries (-want +got):\n%s", diff)
	}
}

// After a subscription is deleted, its running and queued deliveries end as cancelled with that
// reason, and no new delivery starts.
func TestDeleteSubscription(t *testing.T) {
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
	_, err := db.Replay(t.Context(), noon, r.Stores[0], owner, claims[3].ID) // queued, and may have an open workflow
	must(t, err)
	r.Place(t, db, 3)
	_, err = db.Dispatch(t.Context(), noon, 1000) // queued without a workflow
	must(t, err)

	// A teardown of a deletion that a restored database lacks
	if n, err := db.CancelQueued(t.Context(), noon, r.Stores[0], s.ID, 2); err != nil || n != 0 {
		t.Errorf("CancelQueued of a subscription that is not deleted: got %d and error %v, want 0", n, err)
	}
	if open, err := db.OpenDeliveries(t.Context(), r.Stores[0], s.ID, "", 100); err != nil || len(open) != 0 {
		t.Errorf("OpenDeliveries of a subscription that is not deleted: got %+v and error %v, want none", open, err)
	}

	must(t, db.DeleteSubscription(t.Context(), noon.Add(time.Second), r.Stores[0], owner, s.ID, 1))
	if err := db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s.ID,
		0); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("second DeleteSubscription: got error %v, want %s", err, app.CodeNotFound)
	}
	r.Place(t, db, 1)
	if claims := claim(t, db); len(claims) != 0 {
		t.Errorf("claims of a deleted subscription: got %+v, want none", claims)
	}
	if outgoing, err := db.Outgoing(t.Context(), claims[1].ID, 2); err != nil || !outgoing.Deleted {
		t.Errorf("Outgoing: got %+v and error %v, want a deleted subscription", outgoing, err)
	}
	jobs := persistencetest.TakeJobs(t, db, noon.Add(time.Second))
	if len(jobs) != 1 || jobs[0].Kind != app.JobTeardown || jobs[0].Subject != string(s.ID) ||
		jobs[0].StoreID != r.Stores[0] {
		t.Errorf("jobs: got %+v, want one teardown of %s", jobs, s.ID)
	}

	for _, want := range []int{2, 1, 0} {
		if n, err := db.CancelQueued(t.Context(), noon, r.Stores[0], s.ID, 2); err != nil || n != want {
			t.Errorf("CancelQueued: got %d and error %v, want %d", n, err, want)
		}
	}
	all, err := db.OpenDeliveries(t.Context(), r.Stores[0], s.ID, "", 100)
	must(t, err)
	if len(all) != 4 {
		t.Fatalf("OpenDeliveries: got %+v, want 4", all)
	}
	for _, one := range all {
		d, err := db.Delivery(t.Context(), r.Stores[0], one.ID)
		must(t, err)
		if one.Idle != (d.Status == app.DeliveryQueued || d.Status == app.DeliveryDeadLetter) {
			t.Errorf("%s is %s: got idle %v", one.ID, d.Status, one.Idle)
		}
	}
	some, err := db.OpenDeliveries(t.Context(), r.Stores[0], s.ID, all[0].ID, 2)
	must(t, err)
	if diff := cmp.Diff(all[1:3], some); diff != "" {
		t.Error("second batch of OpenDeliveries (-want +got):", diff)
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
		t.Errorf("deliveries by status and reason (-want +got):\n%s", diff)
	}
	if n := count(t, db, "SELECT count(*) FROM attempts WHERE status = 'retrying'"); n != 0 {
		t.Errorf("attempts with status retrying: got %d, want 0", n)
	}
	if diff := cmp.Diff(`webhook.deleted by usr_1 {"host": "receiver.example"}`,
		trail(t, db, string(s.ID))[1]); diff != "" {
		t.Errorf("last audit entry (-want +got):\n%s", diff)
	}
}

func TestRotateSecret(t *testing.T) {
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
			t.Errorf("secrets: got %q and %q, want %q and %q",
				o.Secret.Reveal(), o.PreviousSecret.Reveal(), present, previous)
		}
	}
	const first = "0123456789abcdef0123456789abcdef"
	now := time.Now()
	rotated := rotate("second", time.Hour, now)
	if rotated.Version != 2 || rotated.PreviousSecretExpiresAt == nil ||
		!rotated.PreviousSecretExpiresAt.Equal(app.At(now).Add(time.Hour)) {
		t.Errorf("rotated: got %+v, want version 2 and an overlap of an hour", rotated)
	}
	check("second", first)
	if again := rotate("second", 0, now); again.Version != 2 {
		t.Errorf("rotation to the same secret: got %+v, want version 2", again)
	}
	check("second", first)
	rotate("third", time.Hour, now)
	check("third", "second")
	if ended := rotate("fourth", 0, now); ended.PreviousSecretExpiresAt != nil {
		t.Errorf("rotation without overlap: got %+v, want no previous secret", ended)
	}
	check("fourth", "")
	rotate("fifth", time.Minute, now.Add(-time.Hour)) // the overlap has already ended
	check("fifth", "")
	if n := count(t, db, `SELECT count(*) FROM subscriptions WHERE previous_secret IS NOT NULL
		OR previous_secret_until IS NOT NULL`); n != 0 {
		t.Errorf("stored expired secrets: got %d, want 0", n)
	}
	if n := len(trail(t, db, string(s.ID))); n != 1+4 {
		t.Errorf("audit entries of the creation and 4 rotations: got %d, want 5", n)
	}
}

// A secret that no key opens, for example after the loss of a key, can be replaced. It does not stay valid, because no
// attempt could be signed with it.
func TestRotateUnreadableSecret(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 1)
	id := claim(t, db)[0].ID
	_, err := db.System().DB.ExecContext(t.Context(), "UPDATE subscriptions SET secret = 'sealed with a lost key'")
	must(t, err)
	rotated, err := db.RotateSecret(t.Context(), time.Now(), r.Stores[0], owner, s.ID, app.NewSecret("second"), time.Hour,
		0)
	must(t, err)
	if rotated.Version != 2 || rotated.PreviousSecretExpiresAt != nil {
		t.Errorf("rotated: got %+v, want version 2 without an overlap", rotated)
	}
	o, err := db.Outgoing(t.Context(), id, 1)
	must(t, err)
	if o.Unreadable || o.Secret.Reveal() != "second" || o.PreviousSecret.Reveal() != "" {
		t.Errorf("secrets: got %q and %q, want the new one alone", o.Secret.Reveal(), o.PreviousSecret.Reveal())
	}
}
