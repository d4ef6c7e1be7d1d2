package delivery_test

import (
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Changes of webhooks and plans, and bulk replays, of the model of turns.

// useUpPlan leaves a few starts of the present window.
func (m *turnModel) useUpPlan() {
	left := m.rand.IntN(5)
	limit, _ := app.PlanStarter.PerWindow()
	change(m.t, m.db, `INSERT INTO plan_windows AS w (queue, starts_at, started, replays_started)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (queue, starts_at) DO UPDATE SET started = greatest(w.started, excluded.started),
			replays_started = greatest(w.replays_started, excluded.replays_started)`,
		m.r.Website, app.PlanWindow(m.now, app.DefaultPlanWindow), limit-left, limit/2-left/2)
}

func (m *turnModel) nextWindow() {
	m.now = app.PlanWindow(m.now, app.DefaultPlanWindow).Add(app.DefaultPlanWindow)
}

// beginReplay replays a dead letter as an operator's signal does. Its workflow survives the ends of relays.
func (m *turnModel) beginReplay() {
	id, ok := m.delivery(app.DeliveryDeadLetter)
	if !ok {
		return
	}
	began, err := m.db.BeginReplay(m.t.Context(), m.now, id)
	must(m.t, err)
	if !began {
		return
	}
	c := app.Claim{ID: id, Replay: true}
	must(m.t, m.db.System().DB.QueryRowContext(m.t.Context(),
		"SELECT subscription_id, event_id FROM deliveries WHERE id = $1", id).Scan(&c.SubscriptionID, &c.EventID))
	m.checkClaim(c)
	m.begun = append(m.begun, id)
}

// attemptBegun makes the first attempt of a replay that has begun.
func (m *turnModel) attemptBegun() {
	if id, ok := pick(m, &m.begun, true); ok {
		m.post(id, count(m.t, m.db, "SELECT attempts + 1 FROM deliveries WHERE id = $1", id))
	}
}

// createBulk creates a bulk replay of a webhook's deliveries, or missed events, of the last hours.
func (m *turnModel) createBulk() {
	if len(m.bulk) == 4 {
		return
	}
	from := m.now.Add(-time.Duration(1+m.rand.IntN(3)) * time.Hour)
	replay, err := m.db.CreateBulkReplay(m.t.Context(), m.now, m.r.Stores[0], app.Actor{}, app.NewBulkReplay{
		SubscriptionID: m.webhooks[m.rand.IntN(len(m.webhooks))].ID,
		DeliveryStatus: app.ReplayedStatuses[m.rand.IntN(len(app.ReplayedStatuses))],
		From:           app.At(from), To: app.At(m.now.Add(time.Hour)),
	}, nil)
	must(m.t, err)
	m.bulk = append(m.bulk, replay.ID)
}

// continueBulk makes a step of a bulk replay's job.
func (m *turnModel) continueBulk() {
	id, ok := pick(m, &m.bulk, true)
	if !ok {
		return
	}
	limits := app.ReplayLimits{Waiting: 2, Unfinished: 8, List: 5, Step: 4}
	step, err := m.db.ContinueBulkReplay(m.t.Context(), m.now, m.r.Stores[0], id, limits)
	must(m.t, err)
	if step.Status == app.ReplayRunning || step.Rest {
		m.bulk = append(m.bulk, id)
	}
}

func (m *turnModel) cancelBulk() {
	if id, ok := pick(m, &m.bulk, false); ok {
		_, err := m.db.CancelBulkReplay(m.t.Context(), m.now, m.r.Stores[0], id, "test")
		must(m.t, err)
	}
}

func (m *turnModel) switchActivity() {
	s := m.webhooks[m.rand.IntN(len(m.webhooks))]
	m.setActive(s.ID, m.rand.IntN(2) == 0)
	if n := m.rand.IntN(3); n > 0 {
		_, err := m.db.EndQueued(m.t.Context(), m.now, m.r.Stores[0], s.ID, n)
		must(m.t, err)
	}
}

func (m *turnModel) setActive(id app.SubscriptionID, active bool) {
	_, err := m.db.ChangeSubscription(m.t.Context(), m.now, m.r.Stores[0], app.Actor{}, id,
		app.SubscriptionChange{IsActive: &active}, 0)
	must(m.t, err)
}

// deleteWebhook deletes the last webhook and creates another one, which has missed the events so far.
func (m *turnModel) deleteWebhook() {
	last := len(m.webhooks) - 1
	id := m.webhooks[last].ID
	must(m.t, m.db.DeleteSubscription(m.t.Context(), m.now, m.r.Stores[0], app.Actor{}, id, 0))
	m.deleted = append(m.deleted, id)
	m.webhooks[last] = m.subscribe()
}

// tearDown makes a batch of the job that ends the deliveries of a deleted webhook.
func (m *turnModel) tearDown(limit int) {
	id, ok := pick(m, &m.deleted, true)
	if !ok {
		return
	}
	cancelled, err := m.db.CancelQueued(m.t.Context(), m.now, m.r.Stores[0], id, limit)
	must(m.t, err)
	open, err := m.db.OpenDeliveries(m.t.Context(), m.r.Stores[0], id, "", limit)
	must(m.t, err)
	for _, d := range open {
		must(m.t, m.db.EndDelivery(m.t.Context(), m.now, d.ID, app.DeliveryCancelled, app.ReasonDeleted))
		m.check()
	}
	if cancelled+len(open) > 0 {
		m.deleted = append(m.deleted, id)
	}
}

// switchOrdering changes the ordering of the second webhook.
func (m *turnModel) switchOrdering() {
	ordering := app.Orderings[m.rand.IntN(len(app.Orderings))]
	_, err := m.db.ChangeSubscription(m.t.Context(), m.now, m.r.Stores[0], app.Actor{}, m.webhooks[1].ID,
		app.SubscriptionChange{Ordering: &ordering}, 0)
	must(m.t, err)
}

// reorder makes a batch of the job that applies the last change. When the job is done, all unfinished deliveries have
// the present ordering.
func (m *turnModel) reorder(limit int) {
	if m.changing.Done {
		m.changing = app.Reordering{}
	}
	id := m.webhooks[1].ID
	var err error
	m.changing, err = m.db.Reorder(m.t.Context(), m.now, m.r.Stores[0], id, m.changing, limit)
	must(m.t, err)
	if !m.changing.Done {
		return
	}
	ordering, changing := m.orderingOf(id)
	wrong := count(m.t, m.db, `SELECT count(*) FROM deliveries
		WHERE subscription_id = $1 AND status IN ('queued', 'pending', 'retrying') AND resource <> ''
			AND ordered <> ($2 OR class = 2 AND replay_id IS NOT NULL)`, id, ordering == app.OrderingResource)
	if changing || wrong > 0 {
		m.fatalf("the change to %q is done (reordering: %t), but %d deliveries have another ordering", ordering,
			changing, wrong)
	}
}

// orderingOf returns the ordering of a webhook, and whether it is being changed.
func (m *turnModel) orderingOf(id app.SubscriptionID) (ordering app.Ordering, changing bool) {
	must(m.t, m.db.System().DB.QueryRowContext(m.t.Context(),
		"SELECT ordering, reordering FROM subscriptions WHERE id = $1", id).Scan(&ordering, &changing))
	return ordering, changing
}

// updateStarted adds the deliveries in progress of the second webhook while it becomes ordered, and removes those that
// are no longer in progress and have no attempt in flight.
func (m *turnModel) updateStarted() {
	var kept []app.DeliveryID
	inFlight := func(id app.DeliveryID) bool {
		return slices.ContainsFunc(m.flying, func(a app.MadeAttempt) bool { return a.DeliveryID == id })
	}
	ordering, changing := m.orderingOf(m.webhooks[1].ID)
	rows, err := m.db.System().DB.QueryContext(m.t.Context(), `SELECT id, status IN ('pending', 'retrying')
		FROM deliveries WHERE subscription_id = $1 AND (status IN ('pending', 'retrying') OR id = ANY ($2))`,
		m.webhooks[1].ID, idsOrNone(m.started))
	must(m.t, err)
	defer rows.Close()
	for rows.Next() {
		var id app.DeliveryID
		var progressing bool
		must(m.t, rows.Scan(&id, &progressing))
		switch known := slices.Contains(m.started, id); {
		case progressing && (known || changing && ordering == app.OrderingResource), known && inFlight(id):
			kept = append(kept, id)
		}
	}
	must(m.t, rows.Err())
	m.started = kept
}

// idsOrNone returns ids as an array that is not null.
func idsOrNone(ids []app.DeliveryID) []app.DeliveryID { return append([]app.DeliveryID{}, ids...) }
