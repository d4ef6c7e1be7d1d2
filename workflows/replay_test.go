package workflows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/worker"
)

// Every history that was ever recorded replays: a delivery can be open for thirty days,
// over many releases.
func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d histories, %v", len(files), err)
	}
	for _, file := range files {
		replayer := worker.NewWorkflowReplayer()
		Register(replayer)
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// The fast lane: a first attempt that succeeds is one eager workflow task with one local
// activity, six events in all and no search attribute but those of its start. A retry and
// its replay take the slow lane.
func TestLanesInRecordedHistories(t *testing.T) {
	t.Parallel()
	fast := events(t, "testdata/delivery_delivered.json")
	want := []string{
		"WORKFLOW_EXECUTION_STARTED", "WORKFLOW_TASK_SCHEDULED", "WORKFLOW_TASK_STARTED", "WORKFLOW_TASK_COMPLETED",
		"MARKER_RECORDED", "WORKFLOW_EXECUTION_COMPLETED",
	}
	if diff := cmp.Diff(want, fast); diff != "" {
		t.Error(diff)
	}
	for file, attempts := range map[string]int{"retried": 2, "replayed": 3} {
		all := events(t, "testdata/delivery_"+file+".json")
		slow, fast := 0, 0
		for _, event := range all {
			switch event {
			case "ACTIVITY_TASK_SCHEDULED":
				slow++
			case "MARKER_RECORDED":
				fast++
			}
		}
		if slow != attempts || fast != 1 {
			t.Errorf("%s: %d attempts in the slow lane and %d in the fast lane", file, slow, fast)
		}
	}
}

func events(t *testing.T, file string) (types []string) {
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
	if !history.Events[0].Attributes.EagerExecutionAccepted {
		t.Errorf("%s: the start was not eager", file)
	}
	return types
}
