package workflows

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// continued checks that the workflow continued as new, and returns the input of the next run.
func (s *script) continued(t *testing.T) (in DeliveryInput) {
	t.Helper()
	var next *workflow.ContinueAsNewError
	if !errors.As(s.GetWorkflowError(), &next) {
		t.Fatalf("ended with %v, want continue-as-new", s.GetWorkflowError())
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

// A relay's signal that arrives while the delivery ends restarts the schedule. An operator's signal does not.
func TestSignalWhileDeliveryEnds(t *testing.T) {
	for name, test := range map[string]struct {
		first    activities.DeliverResult
		signal   ReplaySignal
		attempts []int // numbers of the attempts
		states   []string
	}{
		"delivered":            {delivered, ReplaySignal{Attempt: 2}, []int{1, 2}, nil},
		"delivered, operator":  {delivered, ReplaySignal{}, []int{1}, nil},
		"subscription deleted": {deleted, ReplaySignal{Attempt: 1}, []int{1, 1}, []string{"cancelled", "delivered"}},
		"subscription inactive": {
			inactive, ReplaySignal{Attempt: 1}, []int{1, 1}, []string{"dead_letter", "delivered"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.first, delivered)
			first := true
			s.during[1] = func() {
				if first {
					first = false
					s.SignalWorkflow(SignalReplay, test.signal)
				}
			}
			s.run(true)
			if err := s.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			var numbers []int
			for _, made := range s.made {
				numbers = append(numbers, made.Attempt)
			}
			if diff := cmp.Diff(test.attempts, numbers); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.states, s.ended); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// The context of a cancelled run is done, so a replay continues in a new run.
func TestReplayOfCancelledDelivery(t *testing.T) {
	s := newScript(t, refused)
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Minute)
	s.canceled = func() { s.SignalWorkflow(SignalReplay, ReplaySignal{Attempt: 3}) }
	s.run(true)
	if in := s.continued(t); in.Attempts != 2 || in.Quick || in.Place != 0 || in.Shown != app.DeliveryCancelled {
		t.Errorf("continued with %+v, want 2 attempts, place 0 and state cancelled", in)
	}
}

// A new run knows the value of the search attribute and replaces it.
func TestContinueAsNewKeepsShownState(t *testing.T) {
	s := newScript(t, inactive)
	s.SetContinueAsNewSuggested(true)
	s.signal(time.Hour, ReplaySignal{Attempt: 1})
	s.run(true)
	in := s.continued(t)
	s = newScript(t, delivered)
	s.input = in
	s.run(false)
	s.check(t, app.DeliveryDelivered, 1, "delivered")
}

// The signal with which a replay starts its workflow names the first attempt of the run. It does not request another
// replay after that attempt.
func TestStartSignalReplaysOnce(t *testing.T) {
	s := newScript(t, inactive)
	s.input.Attempts = 6
	s.signal(0, ReplaySignal{Attempt: 7})
	s.run(false)
	s.check(t, app.DeliveryDeadLetter, 6, "dead_letter")
	if len(s.made) != 1 {
		t.Errorf("%d attempts, want 1", len(s.made))
	}
}

// A signal for a later attempt that arrives while the delivery ends replays the dead letter: another run's attempts
// were recorded late.
func TestEarlySignalReplaysDeadLetter(t *testing.T) {
	s := newScript(t, inactive, delivered)
	first := true
	s.during[1] = func() {
		if first {
			first = false
			s.SignalWorkflow(SignalReplay, ReplaySignal{Attempt: 3})
		}
	}
	s.run(false)
	s.check(t, app.DeliveryDelivered, 3, "dead_letter", "delivered")
}

// A run that waits for its first attempt can receive a signal for a later attempt, if another run made the first one.
// The signal is kept until then.
func TestEarlySignalIsKept(t *testing.T) {
	s := newScript(t, delivered)
	s.input.NextAttempt = new(start.Add(15 * time.Second))
	s.signal(0, ReplaySignal{Attempt: 2})
	s.signal(5*time.Second, ReplaySignal{})
	s.run(false)
	s.check(t, app.DeliveryDelivered, 2)
}

// A relay's signal replays a dead letter with the attempt that it names, unless that was already made. Attempts between
// them have been recorded by another run.
func TestRelaysSignalNamesTheAttempt(t *testing.T) {
	for signalled, want := range map[int][]int{6: {7}, 7: {7, 7}, 9: {7, 9}} {
		t.Run(fmt.Sprint("attempt ", signalled), func(t *testing.T) {
			s := newScript(t, inactive, delivered)
			s.input.Attempts = 6
			s.signal(time.Hour, ReplaySignal{Attempt: signalled})
			s.run(true)
			var numbers []int
			for _, made := range s.made {
				numbers = append(numbers, made.Attempt)
			}
			if diff := cmp.Diff(want, numbers); diff != "" {
				t.Errorf("numbers of the attempts (-want +got):\n%s", diff)
			}
		})
	}
}

// The reconciler's signal replays a dead letter that has waited for some time, but not one that ended after the
// reconciler had read the delivery.
func TestReconcilerSignal(t *testing.T) {
	for name, test := range map[string]struct {
		read   time.Duration // time of the read, after the delivery became a dead letter
		status app.DeliveryStatus
	}{
		"before it ended":         {-time.Second, app.DeliveryDeadLetter},
		"at about the same time":  {30 * time.Second, app.DeliveryDeadLetter},
		"while it waits for long": {2 * time.Minute, app.DeliveryDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, inactive, delivered)
			s.signal(5*time.Minute, ReplaySignal{Overdue: new(start.Add(test.read))})
			s.run(true)
			var result DeliveryState
			if err := s.GetWorkflowResult(&result); err != nil || result.State != string(test.status) {
				t.Errorf("result %+v, %v, want state %s", result, err, test.status)
			}
		})
	}
}

// An operator's replay asks for the turn. If it is taken, no attempt is made until the relay's signal. Then it begins,
// also if the operator signals again meanwhile.
func TestOperatorsReplayWaitsForItsTurn(t *testing.T) {
	for name, test := range map[string]struct {
		waits, asked int
		signals      map[time.Duration]ReplaySignal
		at           time.Duration // of the attempt
	}{
		"the turn is free": {0, 1, map[time.Duration]ReplaySignal{time.Hour: {}}, time.Hour},
		"the turn is taken": {1, 1, map[time.Duration]ReplaySignal{
			time.Hour: {}, 3 * time.Hour: {Attempt: 1},
		}, 3 * time.Hour},
		"signalled again": {2, 2, map[time.Duration]ReplaySignal{
			time.Hour: {}, 2 * time.Hour: {}, 3 * time.Hour: {Attempt: 1},
		}, 3 * time.Hour},
		"by a relay": {0, 0, map[time.Duration]ReplaySignal{time.Hour: {Attempt: 1}}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, inactive, delivered)
			s.waits = test.waits
			for at, signal := range test.signals {
				s.signal(at, signal)
			}
			s.RegisterDelayedCallback(func() {
				got := s.state(t)
				isDead := got.State == "dead_letter" && strings.HasSuffix(got.Waits, waitsForTurn) && got.Expires != nil
				if test.at > time.Hour && !isDead {
					t.Errorf("state before the turn: %+v, want a dead letter whose replay is queued", got)
				}
			}, 90*time.Minute)
			s.run(true)
			s.check(t, app.DeliveryDelivered, 1, "dead_letter", "delivered")
			if diff := cmp.Diff([]time.Duration{0, test.at}, s.at); diff != "" || s.asked != test.asked {
				t.Errorf("asked %d times, want %d; times of the attempts (-want +got):\n%s", s.asked, test.asked, diff)
			}
		})
	}
}

// A queued replay of an operator ends with the dead letter: a later claim starts another run.
func TestQueuedReplayOutlivesItsWorkflow(t *testing.T) {
	s := newScript(t, inactive)
	s.waits = 1
	s.signal(time.Hour, ReplaySignal{})
	s.run(true)
	s.check(t, app.DeliveryDeadLetter, 0, "dead_letter")
	if len(s.made) != 1 || s.asked != 1 {
		t.Errorf("%d attempts and %d requests for the turn, want one each", len(s.made), s.asked)
	}
}
