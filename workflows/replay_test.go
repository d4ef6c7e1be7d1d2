package workflows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/worker"
)

// All recorded histories must replay: a delivery can be open for thirty days, across several releases.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d histories, %v, want at least 10", len(files), err)
	}
	for _, file := range files {
		replayer := worker.NewWorkflowReplayer()
		Register(replayer)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The delivery that waits for its turn goes on when a relay signals it.
func TestTurnInRecordedHistory(t *testing.T) {
	t.Parallel()
	all, _ := events(t, "testdata/delivery_waited_for_its_turn.json")
	if !slices.Contains(all, "WORKFLOW_EXECUTION_SIGNALED") || slices.Contains(all, "TIMER_FIRED") {
		t.Errorf("events: got %v, want a signal before the timer", all)
	}
}

// If the first attempt succeeds, a delivery or a burst has one eager workflow task with one local activity, six events
// and no search attributes except those of its start. A retry to a quick receiver uses the fast lane, the first attempt
// of a replay the slow lane.
func TestLanesInRecordedHistories(t *testing.T) {
	t.Parallel()
	want := []string{
		"WORKFLOW_EXECUTION_STARTED", "WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_COMPLETED",
		"MARKER_RECORDED", "WORKFLOW_EXECUTION_COMPLETED",
	}
	for _, file := range []string{"delivery_delivered", "burst_delivered", "burst_failed_one"} {
		if diff := cmp.Diff(want, eagerEvents(t, "testdata/"+file+".json")); diff != "" {
			t.Errorf("events of %s (-want +got):\n%s", file, diff)
		}
	}
	for file, attempts := range map[string]struct{ slow, fast int }{
		"delivery_retried": {0, 3}, "delivery_replayed": {1, 3},
	} {
		all := eagerEvents(t, "testdata/"+file+".json")
		slow, fast := 0, 0
		for _, event := range all {
			switch event {
			case "ACTIVITY_TASK_SCHEDULED":
				slow++
			case "MARKER_RECORDED":
				fast++
			}
		}
		if slow != attempts.slow || fast != attempts.fast {
			t.Errorf("%s: %d attempts in the slow lane and %d in the fast lane, want %d and %d",
				file, slow, fast, attempts.slow, attempts.fast)
		}
	}
}

// events returns the types of the events of a history, and whether its start was eager.
func events(t *testing.T, file string) (types []string, eager bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var history struct {
		Events []struct {
			EventType  string
			Attributes struct{ EagerExecutionAccepted bool } `json:"workflowExecutionStartedEventAttributes"`
		}
	}
	if err := json.Unmarshal(text, &history); err != nil {
		t.Fatal(err)
	}
	for _, e := range history.Events {
		types = append(types, e.EventType[len("EVENT_TYPE_"):])
	}
	return types, history.Events[0].Attributes.EagerExecutionAccepted
}

// eagerEvents returns the types of the events of a history whose start must be eager.
func eagerEvents(t *testing.T, file string) []string {
	t.Helper()
	types, eager := events(t, file)
	if !eager {
		t.Errorf("%s: the start was not eager, want an eager start", file)
	}
	return types
}
