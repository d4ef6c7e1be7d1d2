package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestRestoredDatabases gives Temporal empty databases while the worker runs, and restores older copies of Temporal's
// databases, and of Comanda's. Deliveries are in every state when the copy is made, and progress afterwards. Every
// delivery in Comanda's database ends with a status in the API.
func TestRestoredDatabases(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for name, restore := range map[string]func(*testing.T, *fragileWorld){
		"empty databases of Temporal":           restoreNothing,
		"an older copy of Temporal's databases": restoreTemporal,
		"an older copy of Comanda's database":   restoreComanda,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFragileWorld(t)
			maps.Copy(f.settings, map[string]string{
				"COMANDA_RECONCILE_AFTER": "2s", "COMANDA_RETRY_SCHEDULE": "2s,2s", "COMANDA_DELIVERY_TIMEOUT": "5s",
				"COMANDA_PLAN_WINDOW": planWindow.String(), "COMANDA_BURST": "always",
			})
			f.revive()
			restore(t, f)
			t.Logf("%d repairs", reconciled(t, f.worker.Admin))
		})
	}
}

func restoreNothing(t *testing.T, f *fragileWorld) {
	present := newScene(t)
	f.haltTemporal() // the worker keeps running
	f.drop("Temporal")
	f.revive()
	present.end()
}

func restoreTemporal(t *testing.T, f *fragileWorld) {
	past := newScene(t)
	f.halt()
	f.backUp()
	f.revive()
	past.end()
	past.replayDelivered()
	present := newScene(t)
	present.loseJobs(f)
	f.halt()
	f.restore("Temporal")
	f.revive()
	past.end()
	present.end()
}

func restoreComanda(t *testing.T, f *fragileWorld) {
	past := newScene(t)
	past.loseJobs(f)
	f.halt()
	f.backUp()
	f.revive()
	if *long { // a repair waits until the dead letter is a minute old
		past.groups["retrying"].await("dead letters", comanda.DeliveryStatusDeadLetter)
		past.end("retrying")
	} else {
		past.end()
	}
	future := newScene(t)
	f.halt()
	f.restore("Comanda")
	requests := future.requests() // also the last ones of the killed worker
	f.revive()
	past.end()
	future.heal()
	future.awaitNoWorkflows()
	if n := future.requests(); n != requests {
		t.Errorf("got %d requests for deliveries that no longer exist, want 0", n-requests)
	}
}

// scene is a set of deliveries in every state.
type scene struct {
	t      *testing.T
	groups map[string]*group
	heal   func()              // makes all receivers accept requests
	bulk   *comanda.BulkReplay // of the group "bulk", if its job is lost
}

// newScene creates twenty deliveries in each state. Most receivers reject requests or hang until the scene is healed.
func newScene(t *testing.T) *scene {
	t.Helper()
	healing, heal := context.WithCancel(t.Context())
	until := func() int { return refused(healing.Err() == nil) }
	hang := func() int {
		<-healing.Done()
		return http.StatusNoContent
	}
	s := &scene{t: t, heal: heal, groups: map[string]*group{
		"delivered":   newGroup(t, func(int) int { return http.StatusNoContent }),
		"queued":      newGroup(t, func(int) int { return http.StatusNoContent }),
		"deleted":     newGroup(t, func(int) int { return http.StatusNoContent }),
		"in flight":   newGroup(t, func(int) int { return hang() }),
		"retrying":    newGroup(t, func(int) int { return until() }),
		"dead letter": newGroup(t, func(int) int { return until() }),
		"replayed":    newGroup(t, func(int) int { return until() }),
		"bulk":        newGroup(t, func(int) int { return until() }),
	}}
	dead := []string{"dead letter", "replayed", "bulk"}
	for _, state := range dead {
		s.groups[state].order()
	}
	for _, state := range dead {
		s.groups[state].await(state, comanda.DeliveryStatusDeadLetter)
	}
	starter, _ := app.PlanStarter.PerWindow()
	s.groups["queued"].usePlan(app.PlanStarter, starter)
	s.groups["deleted"].usePlan(app.PlanStarter, starter)
	for state, g := range s.groups {
		if !slices.Contains(dead, state) {
			g.order()
		}
	}
	s.groups["replayed"].replayDeadLetters()
	s.groups["queued"].await("queued", comanda.DeliveryStatusQueued)
	s.groups["deleted"].await("queued", comanda.DeliveryStatusQueued)
	s.groups["delivered"].await("delivered", comanda.DeliveryStatusDelivered)
	s.groups["in flight"].awaitRequests(1)
	s.groups["retrying"].awaitRequests(1)
	return s
}

// loseJobs deletes the webhooks of one group and starts a bulk replay of another one, so that the workflows of both
// jobs are lost. It kills the worker.
func (s *scene) loseJobs(f *fragileWorld) {
	s.t.Helper()
	f.worker.Kill()
	all, err := s.groups["deleted"].ListWebhooks(s.t.Context())
	must(s.t, err)
	for _, one := range all.Data {
		must(s.t, s.groups["deleted"].DeleteWebhook(s.t.Context(), one.ID))
	}
	all, err = s.groups["bulk"].ListWebhooks(s.t.Context())
	must(s.t, err)
	s.bulk, err = s.groups["bulk"].ReplayWebhook(s.t.Context(), all.Data[0].ID, comanda.ReplayWebhookRequest{
		From: time.Now().Add(-time.Hour), Status: new(comanda.ReplayedStatusDeadLetter),
	})
	must(s.t, err)
	_, err = worldOf(s.t).db.System().DB.ExecContext(s.t.Context(), "DELETE FROM jobs")
	must(s.t, err)
}

// end heals the receivers, removes the limits and waits for the end of all deliveries, except in some groups.
func (s *scene) end(except ...string) {
	s.t.Helper()
	s.heal()
	groups := maps.Clone(s.groups)
	maps.DeleteFunc(groups, func(state string, _ *group) bool { return slices.Contains(except, state) })
	for state, g := range groups {
		if g.plan() == app.PlanStarter {
			g.changePlan(app.PlanEnterprise)
		}
		if state == "deleted" && s.bulk != nil {
			g.await("all are cancelled", comanda.DeliveryStatusCancelled)
			continue
		}
		g.await(state+", all have ended", comanda.DeliveryStatusDelivered, comanda.DeliveryStatusDeadLetter)
	}
	if s.bulk != nil {
		eventually(s.t, "the bulk replay ends", func() (err error) {
			s.bulk, err = s.groups["bulk"].GetReplay(s.t.Context(), s.bulk.ID)
			must(s.t, err)
			if s.bulk.Status != comanda.ReplayStatusCompleted || s.bulk.InProgress > 0 || s.bulk.Replayed != groupEvents {
				return fmt.Errorf("%+v", s.bulk)
			}
			return nil
		})
	}
	for state, g := range groups {
		if state == "deleted" && s.bulk != nil {
			continue
		}
		g.replayDeadLetters()
		g.await(state+", all are delivered", comanda.DeliveryStatusDelivered)
		for i, h := range g.hooks {
			if n := h.events(0); n != groupEvents {
				s.t.Errorf("%s: events at receiver %d: got %d, want %d", state, i, n, groupEvents)
			}
		}
	}
}

// replayDelivered replays a delivered group.
func (s *scene) replayDelivered() {
	s.t.Helper()
	g := s.groups["dead letter"]
	for _, d := range g.list() {
		g.replayDelivery(d)
	}
	g.await("all are delivered again", comanda.DeliveryStatusDelivered)
}

func (s *scene) requests() (n int) {
	s.t.Helper()
	for _, g := range s.groups {
		n += g.requests()
	}
	return n
}

// awaitNoWorkflows waits until the workflows of the scene have ended, except dead letters, which wait for a replay.
func (s *scene) awaitNoWorkflows() {
	s.t.Helper()
	for state, g := range s.groups {
		eventually(s.t, state+", the workflows have ended", func() error {
			open, err := worldOf(s.t).temporal.CountWorkflow(s.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
				Query: fmt.Sprintf(`WorkflowType = 'Delivery' AND ComandaIds = '%s' AND ExecutionStatus = 'Running'
					AND (ComandaDeliveryState IS NULL OR ComandaDeliveryState != 'dead_letter')`, g.store),
			})
			if err == nil && open.Count > 0 {
				err = fmt.Errorf("%d are open", open.Count)
			}
			return err
		})
	}
}
