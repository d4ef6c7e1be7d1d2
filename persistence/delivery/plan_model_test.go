package delivery_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// planModel is a model of a website with random events, claims, replays, hours and plans.
type planModel struct {
	t  *rapid.T
	db *persistencetest.Database
	r  restaurant

	plan    app.Plan
	now     time.Time
	started map[time.Time]int // counted in each window
	replays map[time.Time]int
}

// TestPlanModel checks after each claim that the window starts no more deliveries than the plan
// allows, that the oldest deliveries start if the plan does not allow all starts, and that no delivery
// waits that may start. In the end, all deliveries have started.
func TestPlanModel(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	for range 2 {
		r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventCustomerUpdated)
	}
	r.Subscribe(t, db, 1, app.EventOrderCreated)
	rapid.Check(t, func(t *rapid.T) {
		m := &planModel{t: t, db: db, r: r, now: noon, started: map[time.Time]int{}, replays: map[time.Time]int{}}
		m.exec("DELETE FROM deliveries")
		m.exec("DELETE FROM undispatched")
		m.exec("DELETE FROM outbox")
		m.exec("DELETE FROM plan_windows")
		m.setPlan(app.PlanStarter)
		actions := []func(){m.emit, m.emit, m.claim, m.claim, m.claim, m.replay, m.advance, m.changePlan}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			rapid.SampledFrom(actions).Draw(t, "action")()
		}
		m.drain()
	})
}

func (m *planModel) exec(statement string, args ...any) {
	if _, err := m.db.System().DB.ExecContext(m.t.Context(), statement, args...); err != nil {
		m.t.Fatal(err)
	}
}

func (m *planModel) count(statement string, args ...any) (n int) {
	if err := m.db.System().DB.QueryRowContext(m.t.Context(), statement, args...).Scan(&n); err != nil {
		m.t.Fatal(err)
	}
	return n
}

func (m *planModel) setPlan(plan app.Plan) {
	m.plan = plan
	m.exec("UPDATE websites SET plan = $2 WHERE id = $1", m.r.Website, plan)
}

func (m *planModel) changePlan() { m.setPlan(rapid.SampledFrom(app.Plans[:]).Draw(m.t, "plan")) }

func (m *planModel) advance() {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 100).Draw(m.t, "minutes")) * time.Minute)
}

func (m *planModel) emit() {
	kind := rapid.SampledFrom([]app.EventType{app.EventOrderCreated, app.EventCustomerUpdated}).Draw(m.t, "type")
	m.exec(undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at)
		SELECT 'evt_x' || lpad((base + i)::text, 12, '0'), ($2::text[])[1 + i % 2], $3, '{}', $4
		FROM (SELECT count(*) AS base FROM outbox) b, generate_series(1, $1::bigint) i`),
		rapid.IntRange(1, 400).Draw(m.t, "events"), m.r.Stores, kind, m.now)
	if _, err := m.db.Dispatch(m.t.Context(), m.now, 10_000); err != nil {
		m.t.Fatal(err)
	}
}

// replay queues some ended deliveries again.
func (m *planModel) replay() {
	m.exec(`UPDATE deliveries SET status = 'queued', class = 2, replays = replays + 1 WHERE id IN (
		SELECT id FROM deliveries WHERE status = 'delivered' ORDER BY position, event_id, id LIMIT $1)`,
		rapid.IntRange(1, 400).Draw(m.t, "replays"))
}

// waiting returns the events of the queued deliveries of a class, oldest first.
func (m *planModel) waiting(class int) []app.EventID {
	rows, err := m.db.System().DB.QueryContext(m.t.Context(),
		"SELECT event_id FROM deliveries WHERE status = 'queued' AND class = $1 ORDER BY position, event_id", class)
	if err != nil {
		m.t.Fatal(err)
	}
	defer rows.Close()
	var events []app.EventID
	for rows.Next() {
		var event app.EventID
		if err := rows.Scan(&event); err != nil {
			m.t.Fatal(err)
		}
		events = append(events, event)
	}
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
	return events
}

func (m *planModel) claim() { m.claimBatch(rapid.SampledFrom([]int{3, 64, 10_000}).Draw(m.t, "batch")) }

// claimBatch claims once and checks the result. It returns the number of claims.
func (m *planModel) claimBatch(batch int) int {
	window := app.PlanWindow(m.now, time.Hour)
	limit, limited := m.plan.PerWindow()
	var before [3][]app.EventID
	waiting := 0
	for class := range before {
		before[class] = m.waiting(class)
		waiting += len(before[class])
	}
	free := limit - m.started[window]
	found, err := m.db.Claim(m.t.Context(), m.now, batches(batch))
	if err != nil {
		m.t.Fatal(err)
	}
	m.exec("UPDATE deliveries SET status = 'delivered' WHERE status = 'pending'")
	if !limited {
		if len(found.Claims) == 0 && waiting > 0 {
			m.t.Fatalf("claims without a limit: got none, want some of %d queued deliveries", waiting)
		}
		return len(found.Claims)
	}
	m.started[window] += len(found.Claims)
	m.replays[window] += countReplays(found.Claims)
	if len(found.Claims) > max(0, free) || countReplays(found.Claims) > 0 && m.replays[window] > limit/2 {
		m.t.Fatalf("claims: got %d, %d of them replays, want at most %d", len(found.Claims),
			countReplays(found.Claims), free)
	}
	counted := m.count("SELECT coalesce(sum(started), 0) FROM plan_windows WHERE starts_at = $1", window)
	if counted != m.started[window] {
		m.t.Fatalf("counted starts: got %d, want %d", counted, m.started[window])
	}
	if waiting > free {
		m.checkOldest(before, found.Claims)
	}
	if len(found.Claims) == 0 {
		m.checkNothingMayStart(before, window, limit)
	}
	return len(found.Claims)
}

// checkOldest checks that the claims of each class are its oldest deliveries.
func (m *planModel) checkOldest(before [3][]app.EventID, claims []app.Claim) {
	var events [3][]app.EventID
	for _, c := range claims {
		switch {
		case c.Replay:
			events[2] = append(events[2], c.EventID)
		case c.EventType == app.EventCustomerUpdated:
			events[1] = append(events[1], c.EventID)
		default:
			events[0] = append(events[0], c.EventID)
		}
	}
	for class, started := range events {
		slices.SortFunc(started, func(a, b app.EventID) int {
			return slices.Index(before[class], a) - slices.Index(before[class], b)
		})
		if !slices.Equal(started, before[class][:len(started)]) {
			m.t.Fatalf("class %d: got claims of events %v, want the oldest of %v", class, started, before[class])
		}
	}
}

// checkNothingMayStart checks after an empty claim that each class has used up its part of the window.
func (m *planModel) checkNothingMayStart(before [3][]app.EventID, window time.Time, limit int) {
	started := m.started[window]
	for class, allowed := range []int{limit - started, limit - limit/5 - started, limit/2 - m.replays[window]} {
		if len(before[class]) > 0 && min(allowed, limit-started) > 0 {
			m.t.Fatalf("class %d: got no claims of %d queued deliveries, want up to %d", class, len(before[class]),
				allowed)
		}
	}
}

// drain advances the time until all deliveries have started.
func (m *planModel) drain() {
	for range 100 {
		for m.claimBatch(10_000) > 0 {
		}
		if m.count("SELECT count(*) FROM deliveries WHERE status = 'queued'") == 0 {
			return
		}
		m.now = app.PlanWindow(m.now, time.Hour).Add(time.Hour)
	}
	m.t.Fatal("some deliveries have not started after 100 windows")
}
