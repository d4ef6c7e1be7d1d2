package workflows

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

var queued = activities.DeliverResult{Outcome: activities.OutcomeQueued}

// A delivery that was queued again until its turn asks for its attempt less and less often, and makes it as soon as a
// signal announces the turn. It uses up neither attempts nor delays, and stays in its lane.
func TestDeliveryWaitsForItsTurn(t *testing.T) {
	const minute = time.Minute
	for name, test := range map[string]struct {
		outcomes []activities.DeliverResult
		signals  map[time.Duration]func(*script)
		at       []time.Duration
	}{
		"the signal is lost": {
			[]activities.DeliverResult{queued, queued, queued, queued, queued, queued, queued, queued, delivered}, nil,
			// 5, 10, 20, 40, 80, 160, 300, 300 seconds
			[]time.Duration{
				0, 5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second, 155 * time.Second,
				315 * time.Second, 615 * time.Second, 915 * time.Second,
			},
		},
		"a relay passes the turn": {
			[]activities.DeliverResult{queued, queued, queued, queued, delivered},
			map[time.Duration]func(*script){minute: turnSignal, minute + time.Millisecond: turnSignal},
			[]time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, minute},
		},
		"a relay claims it as a replay": {
			[]activities.DeliverResult{queued, queued, queued, queued, delivered},
			map[time.Duration]func(*script){minute: replaySignal(1)},
			[]time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, minute},
		},
		"of a later attempt": {
			[]activities.DeliverResult{queued, queued, queued, queued, delivered},
			map[time.Duration]func(*script){minute: replaySignal(3)},
			[]time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second, 75 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.outcomes...)
			for at, signal := range test.signals {
				s.RegisterDelayedCallback(func() { signal(s) }, at)
			}
			s.RegisterDelayedCallback(func() {
				if state := s.state(t); state.State != "queued" || state.Waits != waitsForTurn || state.Attempts != 0 {
					t.Errorf("state while queued: %+v, want queued until its turn", state)
				}
			}, 3*time.Second)
			s.run(true)
			s.checkAttempts(t, 1)
			if diff := cmp.Diff(test.at, s.at); diff != "" {
				t.Errorf("times of the attempts (-want +got):\n%s", diff)
			}
			if last := s.lanes[len(s.lanes)-1]; last != activities.LaneFast {
				t.Errorf("lane of the last attempt: got %s, want %s", last, activities.LaneFast)
			}
		})
	}
}

// checkAttempts checks that the delivery was delivered by this attempt. Requests that made no attempt do not count.
func (s *script) checkAttempts(t *testing.T, want int) {
	t.Helper()
	var got DeliveryState
	err := s.GetWorkflowResult(&got)
	last := s.made[len(s.made)-1].Attempt
	isDelivered := got.State == string(app.DeliveryDelivered) && got.Waits == ""
	if err != nil || !isDelivered || got.Attempts != want || last != want {
		t.Errorf("ended with %+v, %v after attempt %d, want delivered by attempt %d", got, err, last, want)
	}
}

func turnSignal(s *script) { s.SignalWorkflow(SignalTurn, nil) }

func replaySignal(attempt int) func(*script) {
	return func(s *script) { s.SignalWorkflow(SignalReplay, ReplaySignal{Attempt: attempt}) }
}

// A replay that waits for its turn begins the schedule again.
func TestReplayThatWaitsBeginsTheSchedule(t *testing.T) {
	s := newScript(t, refused, queued, refused, delivered)
	s.RegisterDelayedCallback(func() { replaySignal(2)(s) }, 32*time.Second)
	s.run(true)
	s.checkAttempts(t, 3)
	want := []time.Duration{0, 30 * time.Second, 32 * time.Second, 62 * time.Second}
	if diff := cmp.Diff(want, s.at); diff != "" {
		t.Errorf("times of the attempts (-want +got):\n%s", diff)
	}
}

// A delivery that waits for its turn is cancelled like others, and a long history is continued as new.
func TestEndOfTheWaitForATurn(t *testing.T) {
	s := newScript(t, queued)
	s.RegisterDelayedCallback(s.CancelWorkflow, time.Hour)
	s.run(true)
	if s.GetWorkflowError() == nil || s.cancels != 1 {
		t.Errorf("ended with %v, %d cancellations recorded, want a cancelled run", s.GetWorkflowError(), s.cancels)
	}
	s = newScript(t, queued)
	s.RegisterDelayedCallback(func() { s.SetContinueAsNewSuggested(true) }, time.Hour)
	s.run(true)
	if in := s.continued(t); in.Attempts != 0 || in.Place != 0 {
		t.Errorf("continued with %+v, want no attempts", in)
	}
}
