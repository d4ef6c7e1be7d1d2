package delivery_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// turnModel is a store with few resources and a limited plan. Its webhooks are ordered. The ordering of the second one
// changes, and the last one is deleted and created again. Its simulated relays claim, attempt, die and take over.
type turnModel struct {
	t    *testing.T
	db   *persistencetest.Database
	r    restaurant
	rand *rand.Rand
	now  time.Time
	step int
	log  []string // the last steps

	webhooks []app.Subscription
	changing app.Reordering       // of the second webhook: the job of its last change
	started  []app.DeliveryID     // of that webhook: in progress when it became ordered, and since then
	deleted  []app.SubscriptionID // webhooks whose deliveries have not all ended
	bulk     []app.ReplayID       // bulk replays whose jobs have not ended
	claims   []app.Claim          // of relays that run
	begun    []app.DeliveryID     // replays of operators whose first attempts are due
	flying   []app.MadeAttempt    // attempts that are made, but not recorded
	ends     bool                 // receivers respond with success
}

// TestTurns makes random operations, and checks after each of them that at most one delivery of an ordered resource is
// in progress or may be claimed, that first deliveries start in the order of their positions, and that none is held
// back without a reason. In the end, all deliveries end.
func TestTurns(t *testing.T) {
	t.Parallel()
	steps := 2_000
	if testing.Short() {
		steps = 300
	}
	seed := rand.Uint64()
	db := persistencetest.New(t)
	m := &turnModel{
		t: t, db: db, r: open(t, db, "one.example"), now: noon,
		rand: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // no secret
	}
	setPlan(t, db, noon, m.r.Website, app.PlanStarter)
	for range 3 {
		m.webhooks = append(m.webhooks, m.subscribe())
	}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d, step %d, last steps: %q", seed, m.step, m.log[max(0, len(m.log)-40):])
		}
	}()
	actions := []struct {
		name   string
		weight int
		do     func()
	}{
		{"emit", 6, m.emit},
		{"claim", 6, m.claim},
		{"attempt", 8, m.attempt},
		{"record", 8, m.record},
		{"retry", 4, m.retry},
		{"end", 2, m.end},
		{"replay", 3, m.replay},
		{"begin a replay", 2, m.beginReplay},
		{"attempt a replay that has begun", 3, m.attemptBegun},
		{"create a bulk replay", 1, m.createBulk},
		{"continue a bulk replay", 6, m.continueBulk},
		{"cancel a bulk replay", 1, m.cancelBulk},
		{"requeue", 1, m.requeue},
		{"kill", 1, m.kill},
		{"take over", 2, m.takeOver},
		{"switch off or on", 1, m.switchActivity},
		{"lose a turn", 1, m.lose},
		{"switch the ordering", 3, m.switchOrdering},
		{"reorder", 10, func() { m.reorder(1 + m.rand.IntN(4)) }},
		{"delete a webhook", 1, m.deleteWebhook},
		{"tear down", 4, func() { m.tearDown(1 + m.rand.IntN(4)) }},
		{"use up the plan", 2, m.useUpPlan},
		{"next window", 3, m.nextWindow},
	}
	var weighted []int
	for i, a := range actions {
		for range a.weight {
			weighted = append(weighted, i)
		}
	}
	for m.step = 1; m.step <= steps; m.step++ {
		a := actions[weighted[m.rand.IntN(len(weighted))]]
		m.log = append(m.log, a.name)
		m.now = m.now.Add(time.Duration(m.rand.IntN(100)) * time.Millisecond)
		a.do()
		m.check()
	}
	t.Logf("%d steps, %d deliveries", m.step-1, count(t, db, "SELECT count(*) FROM deliveries"))
	m.drain()
}

// subscribe creates an ordered webhook.
func (m *turnModel) subscribe() app.Subscription {
	return subscribeOrdered(m.t, m.db, m.r, app.EventOrderCreated, app.EventCustomerUpdated)
}

func (m *turnModel) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf(format, args...)
}

// pick returns a random element and removes it if drop is set. ok is false if there is none.
func pick[T any](m *turnModel, from *[]T, drop bool) (one T, ok bool) {
	if len(*from) == 0 {
		return one, false
	}
	i := m.rand.IntN(len(*from))
	one = (*from)[i]
	if drop {
		*from = append((*from)[:i:i], (*from)[i+1:]...)
	}
	return one, true
}

// delivery returns a random delivery with one of the statuses.
func (m *turnModel) delivery(statuses ...app.DeliveryStatus) (app.DeliveryID, bool) {
	var ids []app.DeliveryID
	rows, err := m.db.System().DB.QueryContext(m.t.Context(),
		"SELECT id FROM deliveries WHERE status = ANY ($1) ORDER BY id", statuses)
	must(m.t, err)
	defer rows.Close()
	for rows.Next() {
		var id app.DeliveryID
		must(m.t, rows.Scan(&id))
		ids = append(ids, id)
	}
	must(m.t, rows.Err())
	return pick(m, &ids, false)
}

// emit writes a few events of random resources, and usually dispatches them.
func (m *turnModel) emit() {
	for range 1 + m.rand.IntN(3) {
		kind, resource := app.EventOrderCreated, fmt.Sprint("ord_", m.rand.IntN(3))
		if m.rand.IntN(4) == 0 {
			kind, resource = app.EventCustomerUpdated, "cus_1"
		}
		change(m.t, m.db, undispatched(`INSERT INTO outbox (id, store_id, type, body, occurred_at, subject)
			SELECT 'evt_x' || lpad((count(*) + 1)::text, 12, '0'), $1, $2, '{}', $3::timestamptz, $4
			FROM outbox`), m.r.Stores[0], kind, m.now.Add(-time.Duration(m.rand.IntN(60))*time.Second), resource)
	}
	if m.rand.IntN(4) > 0 {
		_, err := m.db.Dispatch(m.t.Context(), m.now, 1+m.rand.IntN(10))
		must(m.t, err)
	}
}

// claim claims some deliveries, and checks each of them.
func (m *turnModel) claim() {
	_, err := m.db.Dispatch(m.t.Context(), m.now, 100)
	must(m.t, err)
	limits := batches(1 + m.rand.IntN(4))
	if m.rand.IntN(2) == 0 {
		limits.Burst, limits.BurstBatch = 4, 8
	}
	found, err := m.db.Claim(m.t.Context(), m.now, limits)
	must(m.t, err)
	for _, c := range found.Claims {
		m.checkClaim(c)
	}
	m.claims = append(m.claims, found.Claims...)
}

// checkClaim checks a delivery that has just been claimed. While the ordering of its webhook changes, some deliveries
// are ordered and others are not.
func (m *turnModel) checkClaim(c app.Claim) {
	if ordering, changing := m.orderingOf(c.SubscriptionID); changing && ordering == app.OrderingResource {
		m.fatalf("delivery %s is claimed while its webhook becomes ordered", c.ID)
	}
	for problem, condition := range map[string]string{
		"while another one is in progress": "o.status IN ('pending', 'retrying')",
		"before an earlier one": `o.status = 'queued' AND o.class < 2 AND d.class < 2
			AND o.position < d.position`,
		"although a first delivery waits": "o.status = 'queued' AND o.class < 2 AND d.class = 2",
		"before an earlier one of its bulk replay": `o.status = 'queued' AND o.replay_id = d.replay_id
			AND o.position < d.position`,
	} {
		if n := count(m.t, m.db, `SELECT count(*) FROM deliveries d JOIN deliveries o ON o.ordered AND o.id <> d.id
				AND o.subscription_id = d.subscription_id AND o.resource = d.resource AND `+condition+`
			WHERE d.id = $1 AND d.ordered AND d.status = 'pending'`, c.ID); n > 0 {
			m.fatalf("delivery %s (replay: %t) of event %s is claimed %s", c.ID, c.Replay, c.EventID, problem)
		}
	}
}

// attempt makes the first attempt of a claim, in the window that counts it. A worker attempts only a delivery that has
// the turn.
func (m *turnModel) attempt() {
	c, ok := pick(m, &m.claims, true)
	switch {
	case !ok:
	case c.StartBefore != nil && !m.now.Before(*c.StartBefore):
		must(m.t, m.db.Requeue(m.t.Context(), []app.Claim{c}))
	default:
		m.post(c.ID, c.Attempts+1)
	}
}

// retry makes the next attempt of a retrying delivery.
func (m *turnModel) retry() {
	if id, ok := m.delivery(app.DeliveryRetrying); ok {
		m.post(id, count(m.t, m.db, "SELECT attempts + 1 FROM deliveries WHERE id = $1", id))
	}
}

func (m *turnModel) post(id app.DeliveryID, number int) {
	outgoing, err := m.db.Outgoing(m.t.Context(), id, number)
	must(m.t, err)
	if outgoing.Recorded != nil || outgoing.Status == app.DeliveryCancelled || !outgoing.InProgress() {
		return
	}
	if outgoing.Deleted {
		must(m.t, m.db.EndDelivery(m.t.Context(), m.now, id, app.DeliveryCancelled, app.ReasonDeleted))
		return
	}
	if !outgoing.Active {
		must(m.t, m.db.EndDelivery(m.t.Context(), m.now, id, app.DeliveryDeadLetter, app.ReasonInactive))
		return
	}
	made := app.MadeAttempt{
		DeliveryID: id, Outgoing: outgoing, Number: number, At: m.now, Status: app.AttemptDelivered, StatusCode: 200,
	}
	if result := m.rand.IntN(6); !m.ends && result < 2 {
		made.Status, made.StatusCode, made.Error = app.AttemptRetrying, 503, "HTTP 503"
		made.RetryIn = time.Minute
	} else if !m.ends && result == 2 {
		made.Status, made.StatusCode, made.Error = app.AttemptDeadLetter, 503, "HTTP 503"
	}
	m.flying = append(m.flying, made)
}

// record records an attempt, which can be late.
func (m *turnModel) record() {
	if made, ok := pick(m, &m.flying, true); ok {
		_, err := m.db.RecordAttempt(m.t.Context(), made)
		must(m.t, err)
	}
}

// end ends a delivery in progress, or one that is queued, without an attempt.
func (m *turnModel) end() {
	status := []app.DeliveryStatus{app.DeliveryCancelled, app.DeliveryDeadLetter}[m.rand.IntN(2)]
	if id, ok := m.delivery(app.DeliveryPending, app.DeliveryRetrying, app.DeliveryQueued); ok {
		must(m.t, m.db.EndDelivery(m.t.Context(), m.now, id, status, "test"))
	}
}

func (m *turnModel) replay() {
	if id, ok := m.delivery(app.DeliveryDelivered, app.DeliveryDeadLetter, app.DeliveryCancelled); ok {
		_, err := m.db.Replay(m.t.Context(), m.now, m.r.Stores[0], app.Actor{}, id)
		if app.CodeOf(err) != app.CodeConflict { // its webhook is deleted
			must(m.t, err)
		}
	}
}

// requeue returns a claim to the queue, as a relay does whose plan window has ended.
func (m *turnModel) requeue() {
	if c, ok := pick(m, &m.claims, true); ok {
		must(m.t, m.db.Requeue(m.t.Context(), []app.Claim{c}))
	}
}

// kill ends a relay. Nobody makes the attempts of its claims until their leases end.
func (m *turnModel) kill() { m.claims = nil }

// takeOver lets leases end, and takes over the claims of killed relays. A claim that is taken over is attempted by
// both relays, if it was only suspended.
func (m *turnModel) takeOver() {
	m.now = m.now.Add(2 * time.Minute)
	claims, err := m.db.ClaimAbandoned(m.t.Context(), m.now, all)
	must(m.t, err)
	m.claims = append(m.claims, claims...)
}

// lose takes the turn from a queued delivery, as no operation does, and lets relays repair it.
func (m *turnModel) lose() {
	seed(m.t, m.db, `WITH lost AS (
			DELETE FROM turns t USING deliveries d
			WHERE d.id = t.delivery_id AND d.status = 'queued' AND d.ordered RETURNING d.id
		) UPDATE deliveries SET held = true WHERE id IN (SELECT id FROM lost)`)
	m.takeOver()
}

// check checks the ordered deliveries of each resource, also while the ordering of their webhook changes. Deliveries
// that were in progress when it became ordered may be in progress together, but none starts beside them.
func (m *turnModel) check() {
	m.t.Helper()
	m.updateStarted()
	rows, err := m.db.System().DB.QueryContext(m.t.Context(), `
		SELECT subscription_id, resource,
			count(*) FILTER (WHERE status IN ('pending', 'retrying') AND NOT started) AS progressing,
			count(*) FILTER (WHERE status IN ('pending', 'retrying') AND started) AS started,
			count(*) FILTER (WHERE status = 'queued' AND NOT held) AS claimable,
			count(*) FILTER (WHERE status = 'queued' AND held AND class < 2) AS held,
			count(*) FILTER (WHERE status = 'queued' AND held AND class = 2) AS held_replays,
			count(*) FILTER (WHERE status = 'queued' AND NOT held AND class = 2) AS claimable_replays,
			coalesce(min(position) FILTER (WHERE status = 'queued' AND held AND class < 2)
				< min(position) FILTER (WHERE NOT (status = 'queued' AND held) AND class < 2 AND NOT started), false)
				AS inverted,
			(SELECT count(*) FROM turns t JOIN deliveries h ON h.id = t.delivery_id
				WHERE t.subscription_id = d.subscription_id AND t.resource = d.resource
					AND (h.status IN ('pending', 'retrying') OR h.status = 'queued' AND NOT h.held)) AS holders
		FROM (SELECT *, id = ANY ($1) AS started FROM deliveries) d
		WHERE ordered AND status IN ('queued', 'pending', 'retrying') GROUP BY 1, 2`, idsOrNone(m.started))
	must(m.t, err)
	defer rows.Close()
	for rows.Next() {
		var id app.SubscriptionID
		var resource string
		var progressing, started, claimable, held, replays, claimableReplays, holders int
		var inverted bool
		must(m.t, rows.Scan(&id, &resource, &progressing, &started, &claimable, &held, &replays, &claimableReplays,
			&inverted, &holders))
		switch {
		case progressing+claimable > 1, started > 0 && progressing+claimable > 0:
			m.fatalf("%s of %s: %d in progress beside %d since it became ordered, %d claimable", resource, id,
				progressing, started, claimable)
		case progressing+started+claimable == 0:
			m.fatalf("%s of %s: %d deliveries and %d replays are held back for nothing", resource, id, held, replays)
		case held > 0 && claimableReplays > 0:
			m.fatalf("%s of %s: a first delivery waits for a queued replay", resource, id)
		case inverted:
			m.fatalf("%s of %s: a first delivery waits for a later one", resource, id)
		case holders != 1:
			m.fatalf("%s of %s: %d deliveries have the turn", resource, id, holders)
		}
	}
	must(m.t, rows.Err())
}

// drain lets receivers answer, and plans have room, until all deliveries and jobs have ended.
func (m *turnModel) drain() {
	m.ends = true
	for _, s := range m.webhooks {
		m.setActive(s.ID, true)
	}
	for range 10_000 {
		m.reorder(1_000)
		m.tearDown(1_000)
		m.continueBulk()
		m.nextWindow()
		m.takeOver()
		m.claim()
		for len(m.claims) > 0 {
			m.attempt()
		}
		for len(m.begun) > 0 {
			m.attemptBegun()
		}
		m.retry()
		for len(m.flying) > 0 {
			m.record()
			m.check()
		}
		unfinished := count(m.t, m.db,
			"SELECT count(*) FROM deliveries WHERE status IN ('queued', 'pending', 'retrying')")
		if unfinished+len(m.deleted)+len(m.bulk) == 0 {
			return
		}
	}
	m.fatalf("some deliveries do not end")
}
