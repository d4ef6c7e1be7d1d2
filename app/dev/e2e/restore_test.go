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

	"github.com/comanda-dev/comanda/app"
)

// TestRestoredDatabases gives Temporal empty databases while the worker runs. Then it restores older copies of
// Temporal's databases, and of Comanda's. Deliveries are in every state when the copy is made, and progress afterwards.
// Every delivery in Comanda's database ends with a status in the API.
func TestRestoredDatabases(t *testing.T) {
	f := newFragileWorld(t)
	maps.Copy(f.settings, map[string]string{
		"COMANDA_RECONCILE_AFTER": "2s", "COMANDA_RETRY_SCHEDULE": "2s,2s", "COMANDA_DELIVERY_TIMEOUT": "5s",
		"COMANDA_PLAN_WINDOW": planWindow.String(), "COMANDA_BURST": "always",
	})
	f.revive()
	t.Run("empty databases of Temporal", func(t *testing.T) {
		f.t = t
		present := newScene(t)
		f.haltTemporal() // the worker keeps running
		f.drop("Temporal")
		f.revive()
		present.end()
		t.Logf("%d repairs", reconciled(t, f.worker.Admin))
	})
	t.Run("an older copy of Temporal's databases", func(t *testing.T) {
		f.t = t
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
		t.Logf("%d repairs", reconciled(t, f.worker.Admin))
	})
	t.Run("an older copy of Comanda's database", func(t *testing.T) {
		f.t = t
		past := newScene(t)
		past.loseJobs(f)
		f.halt()
		f.backUp()
		f.revive()
		if *long { // a repair waits until the dead letter is a minute old
			past.groups["retrying"].await("dead letters", app.DeliveryDeadLetter)
			past.end("retrying")
		} else {
			past.end()
		}
		future := newScene(t)
		f.halt()
		requests := future.requests()
		f.restore("Comanda")
		f.revive()
		past.end()
		future.heal()
		future.awaitNoWorkflows()
		if n := future.requests(); n != requests {
			t.Errorf("got %d requests for deliveries that no longer exist, want 0", n-requests)
		}
		t.Logf("%d repairs", reconciled(t, f.worker.Admin))
	})
}

// scene is a set of deliveries in every state.
type scene struct {
	t      *testing.T
	groups map[string]*group
	heal   func()          // makes all receivers accept requests
	bulk   *app.BulkReplay // of the group "bulk", if its job is lost
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
		s.groups[state].await(state, app.DeliveryDeadLetter)
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
	s.groups["queued"].await("queued", app.DeliveryQueued)
	s.groups["deleted"].await("queued", app.DeliveryQueued)
	s.groups["delivered"].await("delivered", app.DeliveryDelivered)
	s.groups["in flight"].awaitRequests(1)
	s.groups["retrying"].awaitRequests(1)
	return s
}

// loseJobs deletes the webhooks of one group and starts a bulk replay of another one, so that the workflows of both
// jobs are lost. It kills the worker.
func (s *scene) loseJobs(f *fragileWorld) {
	s.t.Helper()
	f.worker.Kill()
	var all []app.Subscription
	s.groups["deleted"].want(200, "GET", "/webhooks", nil, &all)
	for _, one := range all {
		s.groups["deleted"].want(204, "DELETE", "/webhooks/"+string(one.ID), nil, nil)
	}
	s.bulk = &app.BulkReplay{}
	body := map[string]any{"from": app.At(time.Now().Add(-time.Hour)), "status": app.DeliveryDeadLetter}
	s.groups["bulk"].want(200, "GET", "/webhooks", nil, &all)
	s.groups["bulk"].want(202, "POST", "/webhooks/"+string(all[0].ID)+"/replay", body, s.bulk)
	_, err := the.db.System().DB.ExecContext(s.t.Context(), "DELETE FROM jobs")
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
			g.await("all are cancelled", app.DeliveryCancelled)
			continue
		}
		g.await(state+", all have ended", app.DeliveryDelivered, app.DeliveryDeadLetter)
	}
	if s.bulk != nil {
		eventually(s.t, "the bulk replay ends", func() error {
			s.groups["bulk"].want(200, "GET", "/replays/"+string(s.bulk.ID), nil, s.bulk)
			if s.bulk.Status != app.ReplayCompleted || s.bulk.InProgress > 0 || s.bulk.Replayed != groupEvents {
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
		g.await(state+", all are delivered", app.DeliveryDelivered)
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
		g.want(202, "POST", "/deliveries/"+string(d.ID)+"/replay", nil, nil)
	}
	g.await("all are delivered again", app.DeliveryDelivered)
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
			open, err := the.temporal.CountWorkflow(s.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
				Query: fmt.Sprintf(`WorkflowType = 'Delivery' AND ComandaStoreId = '%s' AND ExecutionStatus = 'Running'
					AND (ComandaDeliveryState IS NULL OR ComandaDeliveryState != 'dead_letter')`, g.store),
			})
			if err == nil && open.Count > 0 {
				err = fmt.Errorf("%d are open", open.Count)
			}
			return err
		})
	}
}
