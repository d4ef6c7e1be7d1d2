package workflows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// update requests a retry after a time, and returns its result as text once the workflow has run.
func (s *script) update(after time.Duration, attempt int) *string {
	result := new("no result")
	s.RegisterDelayedCallback(func() { s.updateNow(attempt, result) }, after)
	return result
}

func (s *script) updateNow(attempt int, result *string) {
	s.UpdateWorkflow(UpdateRetry, fmt.Sprintf("%d-%p", attempt, result), &testsuite.TestUpdateCallback{
		OnAccept: func() { *result = "accepted" },
		OnReject: func(error) { *result = "rejected" },
		OnComplete: func(success any, err error) {
			*result = fmt.Sprint(err)
			if made, ok := success.(RetryResult); ok && err == nil {
				*result = fmt.Sprintf("attempt %d: %v", made.Attempt, made.Made)
			}
		},
	}, RetryInput{Attempt: attempt})
}

func wantRetry(t *testing.T, got *string, want string) {
	t.Helper()
	if *got != want {
		t.Errorf("result of the retry: got %q, want %q", *got, want)
	}
}

// A retry makes the next attempt immediately. The delay after it is the delay after that attempt in the schedule.
func TestRetryCountsInTheSchedule(t *testing.T) {
	s := newScript(t, refused)
	second, third := s.update(10*time.Second, 2), s.update(20*time.Second, 0)
	s.run(true)
	s.check(t, app.DeliveryDeadLetter, 6, "retrying", "dead_letter")
	wantRetry(t, second, "attempt 2: true")
	wantRetry(t, third, "attempt 3: true")
	want := "[0s 10s 20s 30m20s 2h30m20s 8h30m20s]"
	if got := fmt.Sprint(s.at); got != want {
		t.Errorf("times of the attempts: got %s, want %s", got, want)
	}
	if got := s.made[2].RetryIn; got != 30*time.Minute {
		t.Errorf("delay after attempt 3: got %s, want 30m", got)
	}
}

// The server gives updates with the same id the same result. Other updates of the same attempt are rejected.
func TestConcurrentRetriesMakeOneAttempt(t *testing.T) {
	s := newScript(t, refused, delivered)
	results := map[string]int{}
	var all []*string
	for range 8 {
		all = append(all, s.update(10*time.Second, 2))
	}
	s.run(true)
	s.check(t, app.DeliveryDelivered, 2, "retrying", "delivered")
	for _, result := range all {
		results[*result]++
	}
	if results["attempt 2: true"] == 0 || results["attempt 2: true"]+results["rejected"] != len(all) {
		t.Errorf("results of the retries: got %v, want the attempt or a rejection", results)
	}
}

// A retry that arrives when the timer fires does not add an attempt.
func TestRetryAtTheTimeOfTheTimer(t *testing.T) {
	for _, offset := range []time.Duration{-time.Millisecond, 0, time.Millisecond} {
		t.Run(offset.String(), func(t *testing.T) {
			s := newScript(t, refused, delivered)
			s.update(30*time.Second+offset, 2)
			s.run(true)
			s.check(t, app.DeliveryDelivered, 2, "retrying", "delivered")
		})
	}
}

func TestRetryIsRejectedUnlessItsAttemptIsNext(t *testing.T) {
	s := newScript(t, refused)
	first := new(string)
	s.during[1] = func() { s.updateNow(1, first) }
	again, later := s.update(time.Minute, 2), s.update(time.Minute, 4)
	dead := s.update(20*24*time.Hour, 7)
	s.run(false)
	s.check(t, app.DeliveryDeadLetter, 6, "retrying", "dead_letter")
	for _, result := range []*string{first, again, later, dead} {
		wantRetry(t, result, "rejected")
	}
}

// The database knows a failed attempt before the workflow does. A retry waits for the workflow.
func TestRetryBeforeTheWorkflowKnowsTheLastAttempt(t *testing.T) {
	s := newScript(t, refused, delivered)
	result := new(string)
	s.during[1] = func() { s.updateNow(2, result) }
	s.run(false)
	s.check(t, app.DeliveryDelivered, 2, "retrying", "delivered")
	wantRetry(t, result, "attempt 2: true")
	if s.at[1] != 0 {
		t.Errorf("time of attempt 2: got %s, want 0s", s.at[1])
	}
}

// A delivery that ends without the attempt ends its retries too.
func TestRetryOfADeliveryThatEnds(t *testing.T) {
	for name, outcome := range map[string]activities.DeliverResult{"inactive": inactive, "deleted": deleted} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, refused, outcome)
			result := s.update(10*time.Second, 2)
			s.run(true)
			s.check(t, app.DeliveryStatus(outcome.Outcome), 1, "retrying", string(outcome.Outcome))
			wantRetry(t, result, "attempt 2: false")
		})
	}
}

func TestCancelledDuringARetry(t *testing.T) {
	s := newScript(t, refused)
	result := s.update(10*time.Second, 2)
	s.during[2] = s.CancelWorkflow
	s.run(true)
	if err := s.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("error of the workflow: got %v, want a cancellation", err)
	}
	if s.cancels != 1 || len(s.made) != 2 || !strings.Contains(*result, "canceled") {
		t.Errorf("got %d cancellations, %d attempts and %q, want 1, 2 and a cancelled retry", s.cancels, len(s.made), *result)
	}
}

// A delivery of a burst continues as its own workflow in the middle of its schedule, before its next attempt is due.
func TestRetryOfAContinuedDelivery(t *testing.T) {
	s := newScript(t, delivered)
	next := start.Add(30 * time.Second)
	s.input.Attempts, s.input.Place, s.input.NextAttempt = 1, 1, &next
	s.input.Shown = app.DeliveryRetrying
	result := s.update(10*time.Second, 2)
	s.outcomes = []activities.DeliverResult{delivered}
	s.run(true)
	wantRetry(t, result, "attempt 2: true")
	if got := fmt.Sprint(s.at); got != "[10s]" {
		t.Errorf("times of the attempts: got %s, want [10s]", got)
	}
}

// A delivery that has left its burst waits to find the record of its first attempt. A retry, which follows the record,
// ends this wait, too.
func TestRetryOfADeliveryThatHasLeftItsBurst(t *testing.T) {
	s := newScript(t, refused, delivered)
	next := start.Add(time.Minute)
	s.input.NextAttempt = &next
	result := s.update(10*time.Second, 2)
	s.run(true)
	s.check(t, app.DeliveryDelivered, 2, "retrying", "delivered")
	wantRetry(t, result, "attempt 2: true")
	if got := fmt.Sprint(s.at); got != "[10s 10s]" {
		t.Errorf("times of the attempts: got %s, want [10s 10s]", got)
	}
}

// Before the first attempt of a schedule, there is nothing to retry.
func TestNoRetryBeforeTheFirstAttempt(t *testing.T) {
	s := newScript(t, delivered)
	next := start.Add(30 * time.Second)
	s.input.NextAttempt = &next
	result := s.update(10*time.Second, 1)
	s.run(true)
	s.check(t, app.DeliveryDelivered, 1)
	wantRetry(t, result, "rejected")
}

// A retry waits for the workflow of a delivery whose burst has recorded the first attempt.
func TestRetryBeforeTheWorkflowExists(t *testing.T) {
	t.Parallel()
	s := &handingOver{missing: 2}
	outcome, err := NewClient(s, Policy{}, JobPolicy{}).RetryDelivery(t.Context(), app.DeliveryRetry{Number: 2})
	if outcome != app.RetryMade || err != nil {
		t.Errorf("got %q, %v, want the attempt", outcome, err)
	}
}

// handingOver is a Temporal client without the workflow for the first updates.
type handingOver struct {
	client.Client

	missing int
}

func (s *handingOver) UpdateWorkflow(
	context.Context, client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	if s.missing--; s.missing >= 0 {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return madeRetry{}, nil
}

// madeRetry is an update whose attempt was made.
type madeRetry struct{ client.WorkflowUpdateHandle }

func (madeRetry) Get(_ context.Context, result any) error {
	*result.(*RetryResult) = RetryResult{Attempt: 2, Made: true}
	return nil
}

func TestFailedRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want app.RetryOutcome
	}{
		"unknown":    {serviceerror.NewNotFound("no such workflow"), app.RetryLost},
		"not asleep": {temporal.NewApplicationError("", notWaiting), app.RetryBusy},
		"cancelled":  {temporal.NewCanceledError(), app.RetryEnded},
		"old worker": {temporal.NewApplicationError("unknown update retry", ""), ""},
		"no result":  {context.DeadlineExceeded, ""},
		"away":       {serviceerror.NewUnavailable("no connection"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := retryFailed(c.err)
			if got != c.want || (got == "") != (app.CodeOf(err) == app.CodeUnavailable) {
				t.Errorf("got %q, %v, want %q, or UNAVAILABLE without an outcome", got, err, c.want)
			}
			if got == "" && !errors.Is(err, c.err) {
				t.Errorf("got error %v, want it to wrap %v", err, c.err)
			}
		})
	}
}
