package main

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// TestLoad checks that the state of a database with its log is that of its transactions, and that the checkers are
// silent about it.
func TestLoad(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	must(t, watch(t.Context(), db.OwnerURL))
	r := persistencetest.Open(t, db, "one.example")
	hook := r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventPaymentSucceeded)
	order := r.PlaceOne(t, db)
	_, err := db.RecordPayment(t.Context(), persistencetest.Noon, r.Stores[0], order.ID,
		persistencetest.Payment("pi_1", order.TotalMinor), nil)
	must(t, err)
	for _, claim := range persistencetest.Claim(t, db) {
		persistencetest.Attempt(t, db, claim.ID, 1, app.AttemptDelivered, time.Millisecond)
	}
	_, err = db.ChangeSubscription(t.Context(), persistencetest.Noon, r.Stores[0], app.Actor{}, hook.ID,
		app.SubscriptionChange{IsActive: new(false)}, 0)
	must(t, err)
	s := loaded(t, db)

	if n := len(s.sortedEvents(string(r.Stores[0]))); n < 2 || len(s.Deliveries) != 2 || len(s.Changes) != 1 {
		t.Errorf("got %d events, %d deliveries, %d changes, want at least 2, 2 and 1", n, len(s.Deliveries), len(s.Changes))
	}
	versions := s.Webhooks[string(hook.ID)]
	if len(versions) != 2 || !versions[0].Active || versions[1].Active || !versions[1].sees(versions[0].logged) {
		t.Errorf("webhook: got %+v, want an active version, then an inactive one", versions)
	}
	for _, steps := range s.Steps {
		got := make([]string, len(steps))
		for i, step := range steps {
			got[i] = step.Status
		}
		if want := []string{"queued", "pending", "delivered"}; !slices.Equal(got, want) {
			t.Errorf("steps: got %v, want %v", got, want)
		}
	}
	b := &book{s: s, h: &history{Stores: map[string]string{string(r.Stores[0])[len("st_"):]: string(r.Stores[0])}}}
	b.h.Begin = time.Now()
	for id := range s.Deliveries {
		b.post(id, 200)
	}
	for _, c := range checkers {
		for _, v := range c.check(b.h, s) {
			t.Errorf("%s: got %+v, want none", c.name, v)
		}
	}
}

// TestLateAttempt checks that the log has a first attempt that is recorded after its delivery was cancelled, because it
// counts for the plan again.
func TestLateAttempt(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	must(t, watch(t.Context(), db.OwnerURL))
	r := persistencetest.Open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.PlaceOne(t, db)
	claim := persistencetest.Claim(t, db)[0]
	conn, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), "UPDATE deliveries SET status = 'cancelled', ended_at = now(), check_at = NULL")
	must(t, err)
	persistencetest.Attempt(t, db, claim.ID, 1, app.AttemptRetrying, time.Millisecond)
	steps := loaded(t, db).Steps[string(claim.ID)]
	if last := steps[len(steps)-1]; last.Status != "cancelled" || last.Attempts != 1 {
		t.Errorf("got %+v, want a cancelled delivery with an attempt", last)
	}
}

// loaded loads the state of a database. It has no workflows.
func loaded(t *testing.T, db *persistencetest.Database) *state {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer conn.Close(context.Background())
	s := &state{Window: time.Hour, Tries: 6}
	must(t, s.load(t.Context(), conn))
	must(t, s.list(t.Context(), db.DB))
	return s
}

// TestSnapshot checks which transactions a snapshot includes.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	s, err := parseSnapshot("10:20:10,14")
	must(t, err)
	for xid, want := range map[uint64]bool{9: true, 10: false, 11: true, 14: false, 19: true, 20: false} {
		if got := s.includes(xid); got != want {
			t.Errorf("%d: got %t, want %t", xid, got, want)
		}
	}
	for _, text := range []string{"", "1", "1:2", "x:2:", "1:2:x"} {
		if _, err := parseSnapshot(text); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
