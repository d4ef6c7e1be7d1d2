package e2e

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// farFrom reports whether a request's time is more than the spec's tolerance from a clock.
func farFrom(clock time.Time, r *http.Request) bool {
	timestamp, err := strconv.ParseInt(r.Header.Get("X-Webhook-Timestamp"), 10, 64)
	return err != nil || math.Abs(float64(clock.Unix()-timestamp)) > 300
}

// A receiver whose clock is wrong refuses what it gets. It is tried again, and takes it once
// its clock is right.
func TestReceiverWhoseClockIsWrong(t *testing.T) {
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s"})
	for name, wrong := range map[string]time.Duration{"fast": 6 * time.Minute, "slow": -6 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			var offset atomic.Int64
			offset.Store(int64(wrong))
			r := newRestaurant(t)
			h := newHook(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if farFrom(time.Now().Add(time.Duration(offset.Load())), r) {
					w.WriteHeader(http.StatusUnauthorized)
				}
				if n == 2 {
					offset.Store(0)
				}
			})
			s := r.subscribe(h)
			r.order()
			r.delivery("delivered", withStatus(app.DeliveryDelivered))
			var codes []int
			for _, a := range r.attempts(s) {
				codes = append(codes, a.StatusCode)
			}
			if diff := cmp.Diff([]int{401, 401, 200}, codes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A retry that begins more than a minute after the event carries its own time, so that a
// receiver with the spec's tolerance takes it however late it comes (contract §0, 1).
func TestLateRetryCarriesItsOwnTime(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "61s"})
	timestamps := make(chan string, 2)
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, r *http.Request) {
		timestamps <- r.Header.Get("X-Webhook-Timestamp")
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := r.subscribe(h)
	r.order()
	r.delivery("delivered", withStatus(app.DeliveryDelivered))
	attempts := r.attempts(s)
	for i, attempt := range attempts {
		if got, want := <-timestamps, fmt.Sprint(attempt.DeliveredAt.Unix()); i == 1 && got != want {
			t.Errorf("attempt 2 says that it was made at %s, not at %s", got, want)
		}
	}
	if len(attempts) != 2 {
		t.Errorf("attempts %+v", attempts)
	}
}

// What exceeds a website's plan waits, starts at once when the plan improves, and keeps its
// slot when the plan gets worse again: each is delivered, and once.
func TestPlanChangesInTheMiddle(t *testing.T) {
	const more = 30
	limit, _ := app.PlanStarter.PerWindow()
	worker(t, map[string]string{"COMANDA_PLAN_WINDOW": planWindow.String()})
	r, h := newRestaurant(t), newHook(t, nil)
	h.arrived = make(chan int, 2*limit)
	r.subscribe(h)
	r.changePlan(app.PlanStarter)
	r.emit(limit + more)
	queued := func() (n int) {
		must(t, the.db.System().DB.QueryRowContext(t.Context(),
			"SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = 'queued' AND scheduled_for > $2", r.store, time.Now()).Scan(&n))
		return n
	}
	eventually(t, "the window is full", func() error { return r.undelivered(limit) })
	if n := queued(); n != more {
		t.Fatalf("%d wait for the next window", n)
	}
	r.changePlan(app.PlanGrow)
	eventually(t, "the queue has moved up", func() error {
		if n := queued(); n > 0 {
			return fmt.Errorf("%d wait", n)
		}
		return nil
	})
	r.changePlan(app.PlanStarter)
	r.order() // beyond both what the lesser plan has left and what waited
	eventually(t, "what waited has been delivered", func() error { return r.undelivered(limit + more) })
	if n := queued(); n != 1 {
		t.Errorf("%d wait for the next window", n)
	}
	r.changePlan(app.PlanEnterprise)
	eventually(t, "all has been delivered", func() error { return r.undelivered(limit + more + 1) })
	if n := len(h.all(t)); n != limit+more+1 {
		t.Errorf("%d requests for %d events", n, limit+more+1)
	}
}

// planWindow is so long that a window does not end in the middle of a test, but at midnight.
const planWindow = 24 * time.Hour

func (r *restaurant) changePlan(plan app.Plan) {
	r.t.Helper()
	db, err := persistence.Open(persistence.Config{URL: the.infra.Ready.Env["DATABASE_URL"], PlanWindow: planWindow})
	must(r.t, err)
	defer db.Close()
	var website app.WebsiteID
	must(r.t, the.db.System().DB.QueryRowContext(r.t.Context(), "SELECT website_id FROM stores WHERE id = $1", r.store).Scan(&website))
	_, err = db.ChangeWebsite(r.t.Context(), time.Now(), app.Actor{}, website, app.WebsiteChange{Plan: &plan})
	must(r.t, err)
}
