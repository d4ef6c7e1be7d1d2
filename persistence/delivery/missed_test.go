package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A bulk replay of missed events delivers the events of its period that match the webhook's current types and have no
// delivery to it, once. It skips events without a body.
func TestMissedEventsAreReplayed(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	earlier := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	var events []app.EventID
	for i := range 6 {
		events = append(events, emitAt(t, db, store, app.EventOrderCreated, noon.Add(time.Duration(i)*time.Second)))
		emitAt(t, db, store, app.EventProductCreated, noon.Add(time.Duration(i)*time.Second))
		emitAt(t, db, r.Stores[1], app.EventOrderCreated, noon.Add(time.Duration(i)*time.Second))
	}
	outside := emitAt(t, db, store, app.EventOrderCreated, noon.Add(30*time.Second))
	dispatchAll(t, db)
	s := r.Subscribe(t, db, 0, app.EventOrderCreated, app.EventPaymentFailed).ID
	payment := emitAt(t, db, store, app.EventPaymentFailed, noon.Add(2*time.Second))
	dispatchAll(t, db) // only the payment has a delivery
	change(t, db, "UPDATE outbox SET body = NULL WHERE id = $1", events[1])

	wanted := app.NewBulkReplay{
		SubscriptionID: s, DeliveryStatus: app.ReplayedMissed, From: app.At(noon),
		To: app.At(noon.Add(10 * time.Second)),
	}
	dry := wanted
	dry.DryRun = true
	if got := createReplay(t, db, store, dry); *got.Matched != 6 || got.Skipped != 1 || got.Status != app.ReplayDryRun {
		t.Errorf("dry run: got %+v, want 6 matched and 1 skipped", got)
	}
	replay := createReplay(t, db, store, wanted)
	if replay.Matched != nil || replay.Status != app.ReplayRunning {
		t.Errorf("replay: got %+v, want it running and not counted", replay)
	}
	late := emitAt(t, db, store, app.EventOrderCreated, later.Add(time.Second)) // gets a delivery anyway
	dispatchAll(t, db)
	for i, want := range []app.ReplayStep{
		{Status: app.ReplayRunning, Moved: true, Matched: 6, Replayed: 2, Skipped: 1, Decided: 3},
		{Status: app.ReplayRunning, Matched: 6, Replayed: 2, Skipped: 1}, // its deliveries have not started
	} {
		if got := step(t, db, store, replay.ID, 3-i); got != want {
			t.Errorf("step %d: got %+v, want %+v", i+1, got, want)
		}
	}
	want := app.ReplayStep{Status: app.ReplayCompleted, Moved: true, Matched: 6, Replayed: 5, Skipped: 1, Decided: 3}
	if got := step(t, db, store, replay.ID, 100); got != want {
		t.Errorf("last step: got %+v, want %+v", got, want)
	}
	deliveries, err := db.Deliveries(t.Context(), store, app.DeliveryFilter{SubscriptionID: s}, "", 100)
	must(t, err)
	var got []app.EventID
	for _, d := range deliveries {
		got = append(got, d.EventID)
		if d.Status != app.DeliveryQueued || d.Attempts != 0 {
			t.Errorf("delivery: got %+v, want it queued", d)
		}
	}
	delivered := []app.EventID{payment, late, events[0], events[2], events[3], events[4], events[5]}
	slices.Sort(delivered)
	slices.Sort(got)
	if diff := gocmp.Diff(delivered, got); diff != "" {
		t.Errorf("events with a delivery (-want +got):\n%s", diff)
	}
	if n := count(t, db, `SELECT count(*) FROM deliveries WHERE class = 2 AND queue IS NOT NULL AND replay_id = '`+
		string(replay.ID)+"'"); n != 5 {
		t.Errorf("deliveries that count as replays: got %d, want 5", n)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE subscription_id = '"+string(earlier)+"'"); n != 8 {
		t.Errorf("deliveries of the other webhook: got %d, want 8", n)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE event_id = '"+string(outside)+"'"); n != 1 {
		t.Errorf("deliveries of the event outside of the period: got %d, want 1", n)
	}
	dry.EventType = app.EventPaymentFailed
	if got := createReplay(t, db, store, dry); *got.Matched != 0 {
		t.Errorf("missed payments: got %+v, want none", got)
	}
	claimed, err := db.Claim(t.Context(), later, persistencetest.Limits)
	must(t, err)
	for _, c := range claimed.Claims {
		if c.SubscriptionID == s && c.Replay != (c.EventID != payment && c.EventID != late) {
			t.Errorf("claim: got %+v, want a replay for missed events only", c)
		}
	}
}

// A bulk replay of missed events goes by the times of events, whatever the clocks: after an event of a process whose
// clock is a minute ahead, all positions of the store are a minute ahead. Without an earlier end, it has all events.
// The clock of the process that creates it can be far behind.
func TestMissedEventsOfOtherClocks(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	emit := func(at time.Duration) app.EventID {
		id := emitAt(t, db, store, app.EventOrderCreated, noon.Add(at))
		dispatchAll(t, db)
		return id
	}
	before, ahead := emit(-2*time.Second), emit(time.Minute)
	last := emit(0)
	for name, test := range map[string]struct {
		from, to, created time.Duration
		want              []app.EventID
	}{
		"until now":            {-time.Hour, time.Second, time.Second, []app.EventID{before, ahead, last}},
		"after the first":      {-time.Second, time.Second, time.Second, []app.EventID{ahead, last}},
		"until now, later":     {-time.Hour, 10 * time.Minute, 10 * time.Minute, []app.EventID{before, ahead, last}},
		"an end in the past":   {-time.Hour, time.Second, 10 * time.Minute, []app.EventID{before, last}},
		"a begin in the past":  {time.Second, 10 * time.Minute, 10 * time.Minute, []app.EventID{ahead}},
		"a clock behind":       {-time.Hour, -30 * time.Second, -30 * time.Second, []app.EventID{before, ahead, last}},
		"a clock far behind":   {-time.Hour, -time.Minute, -10 * time.Minute, []app.EventID{before, ahead, last}},
		"an end before":        {-time.Hour, -time.Second, 10 * time.Minute, []app.EventID{before}},
		"an end in the future": {-time.Hour, 24 * time.Hour, time.Second, []app.EventID{before, ahead, last}},
		"nothing after an end": {-time.Hour, -2 * time.Second, 10 * time.Minute, nil},
	} {
		id := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
		wanted := app.NewBulkReplay{
			SubscriptionID: id, DeliveryStatus: app.ReplayedMissed, From: app.At(noon.Add(test.from)),
			To: app.At(noon.Add(test.to)),
		}
		create := func(dryRun bool) app.BulkReplay {
			wanted.DryRun = dryRun
			replay, err := db.CreateBulkReplay(t.Context(), noon.Add(test.created), store, byOwner, wanted, nil)
			must(t, err)
			return replay
		}
		if got := create(true); *got.Matched != int64(len(test.want)) {
			t.Errorf("%s: dry run: got %d events, want %d", name, *got.Matched, len(test.want))
		}
		step(t, db, store, create(false).ID, 100)
		got := received(t, db, id)
		slices.Sort(test.want)
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", name, diff)
		}
	}
}

// The count of a dry run and the list read the events of the period and their deliveries by indexes, regardless of the
// number of other events and deliveries.
func TestMissedEventsAreReadAlongIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	id := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	for _, statement := range []string{
		`INSERT INTO outbox (id, store_id, type, body, occurred_at)
			SELECT 'evt_' || n, $1, CASE WHEN n % 10 = 0 THEN 'order.created' ELSE 'product.updated' END, '{}',
				$2::timestamptz + n * interval '10 s'
			FROM generate_series(1, 30000) n WHERE $3 <> ''`,
		`INSERT INTO event_log (id, store_id, position, type)
			SELECT id, store_id, event_position(occurred_at), type FROM outbox
			WHERE store_id = $1 AND occurred_at > $2 AND $3 <> ''`,
		`INSERT INTO deliveries (id, store_id, queue, event_id, subscription_id, event_type, status, scheduled_for,
				created_at, ended_at)
			SELECT 'dlv_' || id, $1, $1, id, $3, type, 'delivered', $2, $2, $2 FROM outbox WHERE type = 'order.created'`,
	} {
		seed(t, db, statement, store, noon, id)
	}
	seed(t, db, "ANALYZE")
	plans, err := db.ExplainMissed(t.Context(), store, id, []app.EventType{app.EventOrderCreated},
		noon.Add(24*time.Hour))
	must(t, err)
	for statement, plan := range plans {
		for _, index := range []string{"event_log_of_type", "outbox_pkey", "deliveries_event_id_subscription_id_key"} {
			if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("plan: got one without %s, or a scan of a whole table\n%s\n%s", index, statement, plan)
			}
		}
	}
}

// A replay of missed events to an inactive webhook ends by the job of the deactivation.
func TestMissedEventsOfInactiveWebhook(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	emitAt(t, db, store, app.EventOrderCreated, noon)
	dispatchAll(t, db)
	id := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	off := false
	_, err := db.ChangeSubscription(t.Context(), noon, store, owner, id, app.SubscriptionChange{IsActive: &off}, 0)
	must(t, err)
	persistencetest.TakeJobs(t, db, later)
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: id, DeliveryStatus: app.ReplayedMissed, From: app.At(noon), To: app.At(noon.Add(time.Second)),
	})
	step(t, db, store, replay.ID, 100)
	jobs := persistencetest.TakeJobs(t, db, later.Add(time.Second))
	if !slices.ContainsFunc(jobs, func(job app.Job) bool {
		return job.Kind == app.JobDeactivation && job.Subject == string(id)
	}) {
		t.Errorf("jobs after the step: got %+v, want a deactivation", jobs)
	}
}
