package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

var previous = flag.String("previous", "", "test beside the previous release, built from this `revision`")

// TestPreviousRelease runs workers of this and of the previous release side by side, kills each, and goes back to the
// previous release as docs/operating-webhooks.md describes. No event is lost.
func TestPreviousRelease(t *testing.T) {
	if *previous == "" {
		t.Skip("needs the revision of the previous release: -previous")
	}
	needPrograms(t)
	old := buildRevision(t, *previous)
	c := newChaos(t, "always")
	c.settings["COMANDA_RETRY_SCHEDULE"], c.settings["COMANDA_PLAN_WINDOW"] = "3s,3s,3s", releaseWindow.String()
	startOld := func() *harness.Process {
		process, err := old.StartComanda(t.Context(), the.infra, "worker", c.settings)
		must(t, err)
		t.Cleanup(process.Kill)
		return process
	}
	const events = 150
	c.worker.Kill()
	c.revive()
	beside := startOld()
	c.during(events,
		func() { beside.Kill(); beside = startOld() },
		func() { c.kill("worker"); c.revive() },
		func() { beside.Kill(); beside = startOld() },
	)
	eventually(t, "every delivery has ended", func() error { return allEnded(t.Context(), events) })
	c.checkReleases(events, 3)

	must(t, beside.Stop(t.Context()))
	c.settings["COMANDA_BURST"] = "off"
	must(t, c.worker.Stop(t.Context()))
	c.revive()
	eventually(t, "no burst is open", func() error { return noneOpen(t, `WorkflowType = 'Burst'`) })
	c.restaurants[9].usePlanOf(releaseWindow, app.PlanStarter, 500)
	const failing = "SELECT count(*) FROM deliveries WHERE status = 'retrying' AND attempts > 1"
	c.during(events, func() {
		eventually(t, "deliveries have failed twice", func() error { return atLeast(5, count(t, failing)) })
		must(t, c.worker.Stop(t.Context()))
	})
	waiting, failed := count(t, "SELECT count(*) FROM deliveries WHERE status = 'queued'"), count(t, failing)
	startOld()
	t.Logf("back to the previous release: %d deliveries are queued, %d have failed twice, %d workflows are reset",
		waiting, failed, resetRetrying(t))
	eventually(t, "every delivery has ended", func() error { return allEnded(t.Context(), 2*events) })
	c.checkReleases(2*events, 3)
}

// releaseWindow is the length of a plan's window.
const releaseWindow = 20 * time.Second

// buildRevision builds the program of a revision of this repository.
func buildRevision(t *testing.T, revision string) harness.Programs {
	t.Helper()
	dir := t.TempDir()
	script := `git -C "$1" archive "$2" | tar -x -C "$3" && cd "$3" && go build -o comanda ./app/cmd/comanda`
	build := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", filepath.Join("..", "..", ".."), revision, dir)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", revision, err, out)
	}
	return harness.Programs{Dev: the.programs.Dev, Comanda: filepath.Join(dir, "comanda")}
}

// checkReleases is check for workers of two releases, after the given number of kills.
func (c *chaos) checkReleases(events, kills int) {
	c.t.Helper()
	each := events / chaosRestaurants
	for id, h := range c.hooks {
		if arrived := h.events(0); arrived != each {
			c.t.Errorf("%s: got %d events, want %d", id, arrived, each)
		}
	}
	duplicates := 0
	for of, n := range c.surplus() {
		if duplicates += n; n < 0 || n > kills {
			c.t.Errorf("duplicates of %v: got %d, want 0 to %d", of, n, kills)
		}
	}
	bursts := count(c.t, "SELECT count(burst_id) FROM deliveries")
	c.t.Logf("%d requests for %d deliveries, %d of them of bursts: %d duplicates",
		c.requests(), events*chaosHooks, bursts, duplicates)
}

func noneOpen(t *testing.T, query string) error {
	t.Helper()
	open, err := the.temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Query: query + ` AND ExecutionStatus = 'Running'`,
	})
	if err == nil && open.Count > 0 {
		err = fmt.Errorf("%d are open", open.Count)
	}
	return err
}

// resetRetrying resets the workflows of retrying deliveries to their first workflow task, and returns their number.
func resetRetrying(t *testing.T) (n int) {
	t.Helper()
	const query = `WorkflowType = 'Delivery' AND ComandaDeliveryState = 'retrying' AND ExecutionStatus = 'Running'`
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 1000}
	list, err := the.temporal.ListWorkflow(t.Context(), request)
	must(t, err)
	for _, found := range list.Executions {
		if err := reset(t.Context(), found.Execution); err != nil {
			t.Errorf("reset %s: %v", found.Execution.WorkflowId, err)
		}
		n++
	}
	return n
}

func reset(ctx context.Context, execution *common.WorkflowExecution) error {
	const all = enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	events := the.temporal.GetWorkflowHistory(ctx, execution.WorkflowId, execution.RunId, false, all)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		if event.EventType != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		_, err = the.temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
			Namespace:         the.infra.Ready.Env["TEMPORAL_NAMESPACE"],
			WorkflowExecution: execution, Reason: "previous release",
			WorkflowTaskFinishEventId: event.EventId, RequestId: rand.Text(),
		})
		if _, closed := errors.AsType[*serviceerror.NotFound](err); closed {
			return nil
		}
		return err
	}
	return nil // no workflow task has completed yet
}
