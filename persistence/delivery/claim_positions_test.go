package delivery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// backlogs creates websites with the given numbers of webhooks and of queued deliveries of each
// webhook. prefix starts the ids of the websites.
func (r restaurant) backlogs(t *testing.T, db *persistencetest.Database, prefix string, plan app.Plan,
	websites, webhooks, deliveries int,
) {
	t.Helper()
	seed(t, db, `INSERT INTO websites SELECT (jsonb_populate_record(w, jsonb_build_object(
			'id', $1::text || n, 'domain', $1::text || n || '.example', 'plan', $2::text))).*
		FROM websites w, generate_series(1, $3::int) n WHERE w.id = $4`, prefix, plan, websites, r.Website)
	seed(t, db, `INSERT INTO stores SELECT (jsonb_populate_record(s, jsonb_build_object(
			'id', $1::text || n, 'website_id', $1::text || n))).*
		FROM stores s, generate_series(1, $2::int) n WHERE s.id = $3`, prefix, websites, r.Stores[0])
	seed(t, db, `INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
		SELECT $1::text || n || '_' || m, $1::text || n, 'https://receiver.example', '{order.created}', '', now(), now()
		FROM generate_series(1, $2::int) n, generate_series(1, $3::int) m`, prefix, websites, webhooks)
	seed(t, db, `INSERT INTO subscription_health (subscription_id, store_id)
		SELECT id, store_id FROM subscriptions WHERE id LIKE $1::text || '%'`, prefix)
	seed(t, db, `INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status,
			scheduled_for, created_at)
		SELECT 'dlv_' || s.id || '_' || i, s.store_id, s.store_id, 'evt_' || lpad(i::text, 9, '0'), s.id,
			'order.created', 'queued', $3::timestamptz, $3
		FROM subscriptions s, generate_series(1, $2::int) i WHERE s.id LIKE $1::text || '%'`, prefix, deliveries, noon)
}

func perQueue(claims []app.Claim) map[string]int {
	counts := map[string]int{}
	for _, c := range claims {
		counts[c.Queue]++
	}
	return counts
}

// A website gets its share of each claim, regardless of the number of its webhooks, its plan and the
// plans of other websites.
func TestWebsitesTakeTurns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ many, one app.Plan }{
		{app.PlanEnterprise, app.PlanEnterprise},
		{app.PlanEnterprise, app.PlanProfessional},
		{app.PlanProfessional, app.PlanEnterprise},
		{app.PlanProfessional, app.PlanProfessional},
	} {
		t.Run(fmt.Sprint(test.many, " beside ", test.one), func(t *testing.T) {
			t.Parallel()
			db := persistencetest.New(t)
			r := open(t, db, "one.example")
			r.backlogs(t, db, "many", test.many, 1, 100, 30)
			r.backlogs(t, db, "one", test.one, 1, 1, 3_000)
			for _, batch := range []int{10, 64, 512} {
				got := perQueue(claimOnce(t, db.Queue, noon, batches(batch)))
				if diff := cmp.Diff(map[string]int{"many1": batch / 2, "one1": batch / 2}, got); diff != "" {
					t.Errorf("claims by queue in a batch of %d (-want +got): %s", batch, diff)
				}
			}
		})
	}
}

// A new delivery of another website, or of another webhook of a busy website, starts after a bounded
// number of claims: the number that reads all queues, or all webhooks of a queue.
func TestNewDeliveriesOvertakeBacklogs(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.backlogs(t, db, "busy", app.PlanEnterprise, 9, 20, 100)
	r.backlogs(t, db, "also", app.PlanStarter, 9, 20, 100)
	q := withPolicy(t, db, func(p *delivery.Policy) { p.ClaimQueues, p.ClaimSubscriptions = 4, 16 })
	for _, arrival := range []string{
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
				created_at)
			SELECT 'dlv_new', id, website_id, 'evt_x', $2, 'order.created', 'queued', now(), now()
			FROM stores WHERE id = $1`,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
				created_at)
			SELECT 'dlv_new', 'busy5', 'busy5', 'evt_x', 'busy5_new', 'order.created', 'queued', now(), now() WHERE $1 <> $2`,
	} {
		seed(t, db, arrival, r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID)
		seed(t, db, `WITH s AS (INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
				VALUES ('busy5_new', 'busy5', 'https://receiver.example', '{order.created}', '', now(), now())
				ON CONFLICT DO NOTHING RETURNING id, store_id)
			INSERT INTO subscription_health (subscription_id, store_id) SELECT id, store_id FROM s`)
		claims := 0
		for count(t, db, "SELECT count(*) FROM deliveries WHERE id = 'dlv_new' AND status = 'queued'") > 0 {
			claimOnce(t, q, noon, batches(16))
			deliver(t, db)
			if claims++; claims > 60 {
				t.Fatalf("the new delivery is not claimed after %d claims", claims)
			}
		}
		t.Logf("claimed after %d claims", claims)
		seed(t, db, "DELETE FROM deliveries WHERE id = 'dlv_new'")
	}
}

// Queues, and webhooks of a queue, that exceed the size of one claim are all served, also if the first
// of them have no room. A queue whose plan allows no more starts is skipped.
func TestClaimsReadQueuesInTurn(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	q := withPolicy(t, db, func(p *delivery.Policy) { p.ClaimQueues, p.ClaimSubscriptions, p.VisitQueues = 4, 8, 30 })
	r.backlogs(t, db, "a_used_up", app.PlanStarter, 40, 1, 1)
	seed(t, db, `INSERT INTO plan_windows (queue, starts_at, started, replays_started)
		SELECT id, $1, 500, 0 FROM websites WHERE id LIKE 'a_used_up%'`, noon)
	r.backlogs(t, db, "b_hangs", app.PlanEnterprise, 1, 30, 20)
	few := batches(10)
	few.Unproven, few.Quick = 1, 1
	if claims := claimAll(t, q, noon, few); len(claims) != 30 {
		t.Fatalf("claims: got %d, want one of each of 30 webhooks, which then have no room", len(claims))
	}
	r.backlogs(t, db, "c", app.PlanEnterprise, 10, 1, 1)
	r.backlogs(t, db, "d", app.PlanStarter, 1, 25, 1)
	r.backlogs(t, db, "b_hangsnot", app.PlanEnterprise, 1, 1, 1)
	var got []app.Claim
	for range 40 {
		got = append(got, claimOnce(t, q, noon, few)...)
	}
	if len(got) != 10+25+1 {
		t.Errorf("claims: got %d, want 36; by queue: %v", len(got), perQueue(got))
	}
	found, err := q.Claim(t.Context(), noon, few)
	must(t, err)
	if !found.More {
		t.Error("More: got false, want true for deliveries that wait for room")
	}
}

// More does not include deliveries that wait for the next window.
func TestClaimMore(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	for i, step := range []struct {
		plan   app.Plan
		queued int // in addition
		batch  int
		want   int
		more   bool
	}{
		{app.PlanStarter, 0, 10, 0, false},
		{app.PlanStarter, 15, 10, 10, true},
		{app.PlanStarter, 0, 10, 5, false},
		{app.PlanStarter, 600, 400, 400, true},
		{app.PlanStarter, 0, 400, 85, false},
		{app.PlanStarter, 0, 400, 0, false},
		{app.PlanEnterprise, 0, 100, 100, true},
		{app.PlanEnterprise, 0, 100, 15, false},
	} {
		setPlan(t, db, noon, r.Website, step.plan)
		if i == 0 {
			r.Subscribe(t, db, 0, app.EventOrderCreated)
		}
		enqueue(t, db, app.EventOrderCreated, step.queued, r.Stores[0])
		found, err := db.Claim(t.Context(), noon.Add(time.Minute), batches(step.batch))
		must(t, err)
		if len(found.Claims) != step.want || found.More != step.more {
			t.Errorf("step %d: got %d claims, more %v, want %+v", i, len(found.Claims), found.More, step)
		}
	}
	if found, err := db.Claim(t.Context(), noon, app.ClaimLimits{}); err != nil || !found.More {
		t.Errorf("claim with a batch of 0: got %+v and error %v, want more", found, err)
	}
}
