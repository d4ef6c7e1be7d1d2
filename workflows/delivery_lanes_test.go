package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

var (
	refusedQuickly = activities.DeliverResult{
		Outcome: activities.OutcomeFailed, StatusCode: 503, Reason: "HTTP 503", Quick: true,
	}
	busy = activities.DeliverResult{Outcome: activities.OutcomeBusy, Wait: 5 * time.Second}
)

// checkLanes compares the lanes in the inputs of the attempts, and the lanes in which the attempts ran.
func (s *script) checkLanes(t *testing.T, want ...activities.Lane) {
	t.Helper()
	var given []activities.Lane
	for _, in := range s.made {
		given = append(given, in.Lane)
	}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("lanes of the inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, s.lanes); diff != "" {
		t.Errorf("lanes of the activities (-want +got):\n%s", diff)
	}
}

// state queries the workflow.
func (s *script) state(t *testing.T) (state DeliveryState) {
	t.Helper()
	value, err := s.QueryWorkflow(QueryState)
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestLanes(t *testing.T) {
	const fast, slow = activities.LaneFast, activities.LaneSlow
	for name, test := range map[string]struct {
		quick    bool
		outcomes []activities.DeliverResult
		want     []activities.Lane
	}{
		"quick first attempt": {true, []activities.DeliverResult{delivered}, []activities.Lane{fast}},
		"slow first attempt":  {false, []activities.DeliverResult{delivered}, []activities.Lane{slow}},
		"retry after a slow failure": {
			true, []activities.DeliverResult{refused, delivered}, []activities.Lane{fast, slow},
		},
		"retry after a quick failure": {
			false, []activities.DeliverResult{refusedQuickly, refused, delivered},
			[]activities.Lane{slow, fast, slow},
		},
		"busy in the fast lane": {
			true, []activities.DeliverResult{busy, refusedQuickly, delivered}, []activities.Lane{fast, slow, fast},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.outcomes...)
			s.run(test.quick)
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			s.checkLanes(t, test.want...)
		})
	}
}

// The fairness key lets websites alternate in the slow lane.
func TestFairnessKey(t *testing.T) {
	d := newDelivery(DeliveryInput{StoreID: "sto_1", Queue: "web_1"})
	if got := d.slowLane(nil).Priority.FairnessKey; got != "web_1" {
		t.Errorf("fairness key: got %q, want %q", got, "web_1")
	}
}

// A busy webhook uses up neither attempts nor the delays between them.
func TestBusyInSlowLane(t *testing.T) {
	s := newScript(t, busy, busy, activities.DeliverResult{Outcome: activities.OutcomeBusy}, refused, busy, delivered)
	s.RegisterDelayedCallback(func() {
		if state := s.state(t); state.State != stateAttempting || state.Attempts != 0 || state.NextRetry == nil {
			t.Errorf("state while busy: %+v, want %s with a next try", state, stateAttempting)
		}
	}, 3*time.Second)
	s.run(true)
	if err := s.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, made := range s.made {
		got = append(got, fmt.Sprintf("%d in %s at %s", made.Attempt, made.Lane, s.at[i]))
	}
	want := []string{
		"1 in fast at 0s", "1 in slow at 0s", "1 in slow at 5s", "1 in slow at 6s", "2 in slow at 36s",
		"2 in slow at 41s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"retrying", "delivered"}, s.ended); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestCancellationWhileBusy(t *testing.T) {
	s := newScript(t, busy)
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Second)
	s.run(false)
	if !temporal.IsCanceledError(s.GetWorkflowError()) || s.cancels != 1 || len(s.made) != 1 {
		t.Errorf("ended with %v, cancellation recorded %d times, %d requests, want cancelled, 1, 1",
			s.GetWorkflowError(), s.cancels, len(s.made))
	}
}

// A delivery that is busy for a long time continues in a new run, at its place in the schedule.
func TestBusyDeliveryContinuesAsNew(t *testing.T) {
	s := newScript(t, refused, busy)
	s.input.Version = deliveryVersion - 1
	s.SetContinueAsNewSuggested(true)
	s.run(true)
	in := s.continued(t)
	if in.Version != deliveryVersion || in.Attempts != 1 || in.Place != 1 || in.Quick || in.NextAttempt != nil ||
		in.Shown != app.DeliveryRetrying {
		t.Errorf("continued with %+v, want place 1 of the schedule in version %d", in, deliveryVersion)
	}
	s = newScript(t, refused, delivered)
	s.input = in
	s.run(in.Quick)
	if s.made[0].Attempt != 2 || s.made[0].RetryIn != 5*time.Minute || s.at[1] != 5*time.Minute {
		t.Errorf("the next run made %+v at %v, want attempt 2", s.made, s.at)
	}
	if diff := cmp.Diff([]string{"delivered"}, s.ended); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A repaired delivery continues after the attempts already made, at the time of the next one.
func TestStartWithinSchedule(t *testing.T) {
	s := newScript(t, refused)
	s.input.Attempts, s.input.Place, s.input.Shown = 9, 3, app.DeliveryRetrying
	s.input.NextAttempt = new(start.Add(time.Minute))
	s.RegisterDelayedCallback(func() {
		state := s.state(t)
		if state.State != "retrying" || state.Attempts != 9 || !state.NextRetry.Equal(start.Add(time.Minute)) {
			t.Errorf("state before the first attempt: %+v, want retrying after 9 attempts", state)
		}
	}, 30*time.Second)
	s.run(true)
	var result DeliveryState
	if err := s.GetWorkflowResult(&result); err != nil || result.Attempts != 12 {
		t.Errorf("result %+v, %v, want 12 attempts", result, err)
	}
	var got []string
	for i, made := range s.made {
		got = append(got, fmt.Sprintf("%d at %s", made.Attempt, s.at[i]))
	}
	if diff := cmp.Diff([]string{"10 at 1m0s", "11 at 2h1m0s", "12 at 8h1m0s"}, got); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dead_letter"}, s.ended); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// A place beyond the schedule, which may have become shorter, gets one last attempt.
func TestStartBeyondSchedule(t *testing.T) {
	s := newScript(t, refused)
	s.input.Attempts, s.input.Place, s.input.Shown = 8, 8, app.DeliveryRetrying
	s.input.NextAttempt = new(start.Add(-time.Minute))
	s.input.Policy.Schedule = app.RetrySchedule{time.Second}
	s.run(false)
	if len(s.made) != 1 || s.made[0].Attempt != 9 || s.made[0].RetryIn != 0 || s.at[0] != 0 {
		t.Errorf("made %+v at %v, want only attempt 9, immediately and without a retry", s.made, s.at)
	}
}

// A delivery that is cancelled before its first attempt makes no attempt.
func TestCancellationBeforeFirstAttempt(t *testing.T) {
	s := newScript(t, delivered)
	s.input.NextAttempt = new(start.Add(time.Minute))
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Second)
	s.run(false)
	if !temporal.IsCanceledError(s.GetWorkflowError()) || s.cancels != 1 || len(s.made) != 0 {
		t.Errorf("ended with %v, cancellation recorded %d times, %d attempts, want cancelled, 1, 0",
			s.GetWorkflowError(), s.cancels, len(s.made))
	}
}
