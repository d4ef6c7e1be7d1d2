package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

// TestTerminatedWorkflows terminates the workflows of a hundred deliveries, twenty in each state. Each delivery still
// ends with a status in the API, and no attempt is made twice.
func TestTerminatedWorkflows(t *testing.T) {
	t.Parallel()
	w := worker(t, map[string]string{
		"COMANDA_RECONCILE_AFTER": "2s", "COMANDA_RETRY_SCHEDULE": "4s,1s", "COMANDA_DELIVERY_TIMEOUT": holding,
		"COMANDA_PLAN_WINDOW": planWindow.String(), "COMANDA_BURST": "off", // each delivery has its own workflow
	})
	const attempts = 3 // of the schedule
	held := make(chan struct{})
	groups := map[string]*group{
		"queued":        newGroup(t, func(int) int { return 204 }),
		"first attempt": newGroup(t, func(attempt int) int { return awaited(t, held, attempt == 1) }),
		"retrying": newGroup(t, func(attempt int) int {
			return max(refused(attempt == 1), awaited(t, held, attempt == 2))
		}),
		"dead letter": newGroup(t, func(attempt int) int { return refused(attempt <= attempts) }),
		"replayed": newGroup(t, func(attempt int) int {
			return max(refused(attempt <= attempts), awaited(t, held, attempt == attempts+1))
		}),
	}
	starter, _ := app.PlanStarter.PerWindow()
	groups["queued"].usePlan(app.PlanStarter, starter)
	for _, g := range groups {
		g.order()
	}

	terminated := map[string]int{}
	groups["queued"].await("queued", comanda.DeliveryStatusQueued)
	terminated["queued"] = groups["queued"].terminate()
	groups["first attempt"].awaitRequests(1)
	terminated["first attempt"] = groups["first attempt"].terminate()
	groups["retrying"].await("retrying", comanda.DeliveryStatusRetrying)
	terminated["retrying"] = groups["retrying"].terminate()
	groups["dead letter"].await("dead letters", comanda.DeliveryStatusDeadLetter)
	terminated["dead letter"] = groups["dead letter"].terminate()
	groups["replayed"].await("dead letters", comanda.DeliveryStatusDeadLetter)
	groups["replayed"].replayDeadLetters()
	groups["replayed"].awaitRequests(attempts + 1)
	terminated["replayed"] = groups["replayed"].terminate()
	for state := range groups {
		want := groupSize
		if state == "queued" {
			want = 0
		}
		if n := terminated[state]; n != want {
			t.Errorf("terminated workflows, %s: got %d, want %d", state, n, want)
		}
	}

	// The repaired workflows join the attempts that are still in flight in the worker. The last attempt of a retrying
	// delivery can be recorded while its workflow is terminated; then nothing is lost.
	lost := terminated["first attempt"] + terminated["replayed"]
	eventually(t, "all lost workflows are replaced", func() error { return atLeast(lost, reconciled(t, w.Admin)) })
	close(held)
	groups["queued"].changePlan(app.PlanEnterprise)
	for state, g := range groups {
		g.await(state+", all have ended", comanda.DeliveryStatusDelivered, comanda.DeliveryStatusDeadLetter)
		g.replayDeadLetters()
		g.await(state+", all are delivered", comanda.DeliveryStatusDelivered)
		g.checkRequests(state)
	}
	repairs := reconciled(t, w.Admin)
	if n := strings.Count(w.Output(), "repaired an overdue delivery"); n != repairs {
		t.Errorf("repairs in the log: got %d, want %d as in the metric", n, repairs)
	}
	t.Logf("terminated %v, %d repairs", terminated, repairs)
}

// TestTerminatedBurst kills a worker during the attempts of a burst, and terminates the burst. Each of its deliveries
// gets a separate workflow.
func TestTerminatedBurst(t *testing.T) {
	t.Parallel()
	c := newChanging(t, "one", "two", "three")
	first := worker(t, map[string]string{"COMANDA_BURST": "always"})
	c.awaitRequests(1)
	first.Kill()
	for _, r := range c.restaurants {
		var burst string
		must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(),
			"SELECT burst_id FROM deliveries WHERE store_id = $1", r.store).Scan(&burst))
		terminate(t, app.BurstWorkflowID(app.BurstID(burst)))
	}
	c.letGo(http.StatusNoContent)
	second := worker(t, map[string]string{"COMANDA_RECONCILE_AFTER": "2s"})
	for name := range c.restaurants {
		c.ends(name, comanda.DeliveryStatusDelivered, "", 1, 2)
	}
	if n := reconciled(t, second.Admin); n != 3 {
		t.Errorf("repairs: got %d, want 3", n)
	}
}

// refused returns the behaviour of a receiver that rejects some requests.
func refused(refuse bool) int {
	if refuse {
		return http.StatusServiceUnavailable
	}
	return http.StatusNoContent
}

// awaited returns the behaviour of a receiver that holds some requests and then rejects them.
func awaited(t *testing.T, held <-chan struct{}, wait bool) int {
	if wait {
		select {
		case <-held:
		case <-t.Context().Done():
		}
	}
	return refused(wait)
}

func atLeast(want, got int) error {
	if got < want {
		return fmt.Errorf("%d of %d", got, want)
	}
	return nil
}

// reconciled returns the number of repairs that a worker counts.
func reconciled(t *testing.T, admin string) int {
	t.Helper()
	return metric(t, admin, "comanda_deliveries_reconciled_total")
}

const (
	groupHooks  = 4 // so few events for each that all are claimed before the webhook has responded
	groupEvents = 5
	groupSize   = groupHooks * groupEvents
)

// group is a restaurant with twenty deliveries: five events for each of four webhooks.
type group struct {
	*restaurant
	hooks []*hook
}

// newGroup creates a restaurant whose receivers respond with a status for each attempt of an event.
func newGroup(t *testing.T, status func(attempt int) int) *group {
	t.Helper()
	g := &group{restaurant: newRestaurant(t)}
	for range groupHooks {
		var h *hook
		h = newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status(h.requestsOf(r.Header.Get("X-Webhook-Id"))))
		})
		g.subscribe(h)
		g.hooks = append(g.hooks, h)
	}
	return g
}

// order creates the events.
func (g *group) order() {
	g.t.Helper()
	for range groupEvents {
		g.restaurant.order()
	}
}

// list returns all deliveries from the API.
func (g *group) list() []comanda.Delivery {
	g.t.Helper()
	return g.deliveries(comanda.ListDeliveriesParams{Limit: 100})
}

// await waits until every delivery has one of these statuses.
func (g *group) await(what string, statuses ...comanda.DeliveryStatus) {
	g.t.Helper()
	eventually(g.t, what, func() error {
		reached := map[comanda.DeliveryStatus]int{}
		for _, d := range g.list() {
			reached[d.Status]++
		}
		n := 0
		for _, status := range statuses {
			n += reached[status]
		}
		if n != groupSize {
			return fmt.Errorf("%v", reached)
		}
		return nil
	})
}

// awaitRequests waits until the receivers have the given number of requests for each delivery.
func (g *group) awaitRequests(attempts int) {
	g.t.Helper()
	eventually(g.t, "all receivers have their requests", func() error {
		return atLeast(attempts*groupSize, g.requests())
	})
}

func (g *group) requests() (n int) {
	g.t.Helper()
	for _, h := range g.hooks {
		n += len(h.all(g.t))
	}
	return n
}

// terminate terminates the open workflows of the deliveries and returns their number.
func (g *group) terminate() (n int) {
	g.t.Helper()
	for _, d := range g.list() {
		id := workflowOf(d)
		if terminate(g.t, id) {
			n++
		}
	}
	return n
}

// terminate terminates a workflow and reports whether it was open.
func terminate(t *testing.T, id string) bool {
	t.Helper()
	err := worldOf(t).temporal.TerminateWorkflow(t.Context(), id, "", "test")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return false
	}
	must(t, err)
	return true
}

func (g *group) replayDeadLetters() {
	g.t.Helper()
	for _, d := range g.list() {
		if d.Status == comanda.DeliveryStatusDeadLetter {
			g.replayDelivery(d)
		}
	}
}

// checkRequests compares the requests with the recorded attempts.
func (g *group) checkRequests(state string) {
	g.t.Helper()
	recorded := 0
	for _, d := range g.list() {
		recorded += d.Attempts
	}
	if n := g.requests(); n != recorded {
		g.t.Errorf("%s: got %d requests, want the %d recorded attempts", state, n, recorded)
	}
	for i, h := range g.hooks {
		if n := h.events(0); n != groupEvents {
			g.t.Errorf("%s: events at receiver %d: got %d, want %d", state, i, n, groupEvents)
		}
	}
}
