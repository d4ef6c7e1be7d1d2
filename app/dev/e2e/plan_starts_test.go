package e2e

import (
	"database/sql"
	"net/http"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

// TestStartsOfPlanWindows counts POSTs over several windows of a plan while webhooks are deactivated and activated. One
// of them has claims that cannot be attempted until it is deactivated, another one is switched while the job ends its
// queued deliveries, and a third one rejects first attempts. In each window, the plan counts the first attempts, and
// not more than it allows. Nothing is lost: each delivery is made once, or is a dead letter that a bulk replay makes.
func TestStartsOfPlanWindows(t *testing.T) {
	t.Parallel()
	const first = 28
	p := newPlanned(t)
	steady := newHook(t, nil)
	steady.respond = func(n int, w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(refused(n%4 == 1 && steady.requestsOf(q.Header.Get("X-Webhook-Id")) == 1))
	}
	off, switched := newHook(t, nil), newHook(t, nil)
	p.add(steady)
	inactive, flapping := p.add(off), p.add(switched)
	repair := (&changing{t: t, webhooks: map[string]*comanda.Webhook{"off": inactive}}).spoilSecret("off")

	p.emit(first)
	p.awaitDispatch() // an event that is dispatched later has no delivery to the inactive webhook
	eventually(t, "many deliveries have started", func() error { return atLeast(2*startsLeft/3, p.starts()) })
	p.activate(inactive, false)
	eventually(t, "all deliveries of the inactive webhook are dead letters", func() error {
		return atLeast(first, p.letters(inactive))
	})
	if n := len(off.all(t)); n != 0 {
		t.Errorf("requests to the inactive webhook: got %d, want 0", n)
	}
	p.emit(1) // has no delivery to it
	p.awaitDispatch()
	repair()
	p.activate(inactive, true)
	all := first + 1 + p.flap(flapping)
	p.awaitEnded()
	p.check()
	for _, s := range []*comanda.Webhook{inactive, flapping} {
		p.replayBulk(s, comanda.ReplayedStatusDeadLetter)
	}
	p.awaitEnded()
	p.check()

	must(t, p.countIs(3*all-1, "status = 'delivered'"))
	for h, events := range map[*hook]int{steady: all, off: all - 1, switched: all} {
		if n := len(h.all(t)); h.events(0) != events || h != steady && n != events {
			t.Errorf("requests: got %d for %d events, want one for each of %d", n, h.events(0), events)
		}
	}
}

// planned is a restaurant with a limited plan, whose windows have few starts left.
type planned struct {
	*restaurant
	website app.WebsiteID
	used    int              // starts of each window that are used up
	hooks   map[string]*hook // by webhook
}

const (
	// shortWindow is the length of the windows of a plan.
	shortWindow = 3 * time.Second
	// startsLeft is the number of starts left in each window, half of them for replays.
	startsLeft = 40
)

// newPlanned starts two workers for a restaurant with a limited plan. The windows of the next minutes have few starts
// left. The database keeps past windows until the end of the test.
func newPlanned(t *testing.T) *planned {
	t.Helper()
	r := newRestaurant(t)
	limit, _ := app.PlanStarter.PerWindow()
	p := &planned{restaurant: r, used: limit - startsLeft, hooks: map[string]*hook{}}
	keepWindows(t)
	must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), `
		WITH used AS (
			INSERT INTO plan_windows (queue, starts_at, started, replays_started)
			SELECT s.website_id, $2::timestamptz + n * $3::float8 * interval '1 second', $4, $5
			FROM stores s, generate_series(0, 200) n WHERE s.id = $1 RETURNING queue
		) SELECT max(queue) FROM used`, r.store, app.PlanWindow(time.Now(), shortWindow), shortWindow.Seconds(), p.used,
		(limit-startsLeft)/2).Scan(&p.website))
	r.changePlan(app.PlanStarter)
	settings := map[string]string{
		"COMANDA_PLAN_WINDOW": shortWindow.String(), "COMANDA_RETRY_SCHEDULE": "1s", "COMANDA_RECONCILE_AFTER": "1s",
	}
	worker(t, settings)
	worker(t, settings)
	return p
}

// keepWindows keeps the database from deleting past windows of plans during a test.
func keepWindows(t *testing.T) {
	t.Helper()
	db, err := sql.Open("pgx", worldOf(t).infra.Ready.OwnerDatabaseURL)
	must(t, err)
	for _, statement := range []string{
		`CREATE FUNCTION keep_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
		`CREATE TRIGGER keep_windows BEFORE DELETE ON plan_windows FOR EACH ROW EXECUTE FUNCTION keep_row()`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
	t.Cleanup(func() {
		_, err := db.Exec("DROP FUNCTION keep_row CASCADE")
		must(t, err)
		must(t, db.Close())
	})
}

// add adds a webhook.
func (p *planned) add(h *hook) *comanda.Webhook {
	p.t.Helper()
	s := p.subscribe(h)
	p.hooks[s.ID] = h
	return s
}

// starts returns the number of counted starts.
func (p *planned) starts() int {
	p.t.Helper()
	return count(p.t, "SELECT sum(started - $2) FROM plan_windows WHERE queue = $1", p.website, p.used)
}

func (p *planned) activate(s *comanda.Webhook, active bool) {
	p.t.Helper()
	p.changeWebhook(s, comanda.ChangeWebhookRequest{IsActive: &active})
}

// letters returns the number of deliveries that were ended because their webhook was inactive.
func (p *planned) letters(s *comanda.Webhook) int {
	p.t.Helper()
	const ended = `SELECT count(*) FROM deliveries
		WHERE subscription_id = $1 AND status = 'dead_letter' AND reason = $2 AND attempts = 0`
	return count(p.t, ended, s.ID, app.ReasonInactive)
}

// flap deactivates a webhook until the first of its queued deliveries end, and activates it again, some times. It
// returns the number of events that it emits for that.
func (p *planned) flap(s *comanda.Webhook) (events int) {
	p.t.Helper()
	const queued = "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND status = 'queued'"
	for rounds := 0; rounds < 3 || p.letters(s) == 0; rounds++ {
		const more = 10
		p.emit(more)
		p.awaitDispatch()
		events += more
		before := p.letters(s)
		p.activate(s, false)
		eventually(p.t, "queued deliveries end", func() error {
			if p.letters(s) > before || count(p.t, queued, s.ID) == 0 {
				return nil
			}
			return errNotYet
		})
		p.activate(s, true)
	}
	p.t.Logf("%d of %d deliveries became dead letters while their webhook was switched", p.letters(s), events)
	return events
}

// awaitEnded waits until all deliveries have ended.
func (p *planned) awaitEnded() {
	p.t.Helper()
	eventually(p.t, "all deliveries have ended", func() error {
		return p.countIs(0, "status NOT IN ('delivered', 'dead_letter')")
	})
}

// check compares the starts that each window counts with the deliveries that have reached their receivers, of which
// each was started once.
func (p *planned) check() {
	p.t.Helper()
	limit, _ := app.PlanStarter.PerWindow()
	made := map[time.Time]int{}
	system := worldOf(p.t).db.System().DB
	rows, err := system.QueryContext(p.t.Context(), `SELECT subscription_id, event_id, counted_in FROM deliveries
		WHERE store_id = $1 AND counted_in IS NOT NULL`, p.store)
	must(p.t, err)
	defer rows.Close()
	counted := 0
	for rows.Next() {
		var webhook, event string
		var window time.Time
		must(p.t, rows.Scan(&webhook, &event, &window))
		if p.hooks[webhook].requestsOf(event) > 0 {
			made[window.UTC()]++
			counted++
		}
	}
	must(p.t, rows.Err())
	arrived := 0
	for _, h := range p.hooks {
		arrived += h.events(0)
	}
	if counted != arrived {
		p.t.Errorf("first attempts in windows: got %d, want the %d at the receivers", counted, arrived)
	}
	windows, err := system.QueryContext(p.t.Context(), `SELECT starts_at, started, replays_started FROM plan_windows
		WHERE queue = $1 AND started <> $2`, p.website, p.used)
	must(p.t, err)
	defer windows.Close()
	n := 0
	for ; windows.Next(); n++ {
		var window time.Time
		var started, replays int
		must(p.t, windows.Scan(&window, &started, &replays))
		if got := made[window.UTC()]; started-p.used != got || started > limit || replays > limit/2 {
			p.t.Errorf("window %s: counted %d starts and %d replays, want %d first attempts, at most %d and %d", window,
				started-p.used, replays, got, limit, limit/2)
		}
		delete(made, window.UTC())
	}
	must(p.t, windows.Err())
	if len(made) > 0 || n < 2 {
		p.t.Errorf("windows with starts: got %d, and first attempts without a count %v, want several and none", n, made)
	}
}
