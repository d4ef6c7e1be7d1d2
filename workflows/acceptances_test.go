package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// unaccepted simulates the database's view of an order in RECEIVED, with a clock that can differ from Temporal's.
type unaccepted struct {
	rules    app.Acceptance
	since    time.Duration // from the start of the workflow
	behind   time.Duration // of the database's clock
	handled  bool
	reminded bool
}

func (u *unaccepted) tick(at time.Duration) app.AcceptanceTick {
	if u.handled {
		return app.AcceptanceTick{State: app.AcceptanceHandled}
	}
	waited := at - u.behind - u.since
	step := u.rules.Step(waited, u.reminded)
	u.reminded = u.reminded || step.Remind
	switch {
	case step.Cancel:
		return app.AcceptanceTick{State: app.AcceptanceCancelled}
	case step.Off:
		return app.AcceptanceTick{State: app.AcceptanceOff}
	case waited < 0:
		return app.AcceptanceTick{State: app.AcceptanceScheduled, NextIn: step.Wait}
	case u.reminded:
		return app.AcceptanceTick{State: app.AcceptanceReminded, NextIn: step.Wait}
	}
	return app.AcceptanceTick{State: app.AcceptanceWaiting, NextIn: step.Wait}
}

// runAcceptance runs the workflow of an order. It returns its state, its error and the times of its activity.
func runAcceptance(
	t *testing.T, order unaccepted, prepare func(*testsuite.TestWorkflowEnvironment, *unaccepted),
) (tick app.AcceptanceTick, calls []time.Duration, err error) {
	t.Helper()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Acceptance, workflow.RegisterOptions{Name: string(app.JobAcceptance)})
	env.RegisterActivityWithOptions(func(
		ctx context.Context, in activities.TickAcceptanceInput,
	) (app.AcceptanceTick, error) {
		if queue := activity.GetInfo(ctx).TaskQueue; queue != DeadlineTaskQueue ||
			in != (activities.TickAcceptanceInput{StoreID: "sto_1", OrderID: "ord_1"}) {
			t.Errorf("activity: got %+v on %s, want ord_1 of sto_1 on %s", in, queue, DeadlineTaskQueue)
		}
		at := env.Now().Sub(start)
		calls = append(calls, at)
		return order.tick(at), nil
	}, activity.RegisterOptions{Name: activityTickAcceptance})
	prepare(env, &order)
	env.ExecuteWorkflow(string(app.JobAcceptance), JobInput{StoreID: "sto_1", Subject: "ord_1"})
	if !env.IsWorkflowCompleted() {
		t.Fatal("the workflow has not completed")
	}
	if err = env.GetWorkflowError(); err == nil {
		err = env.GetWorkflowResult(&tick)
	}
	return tick, calls, err
}

func TestAcceptance(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	both := app.Acceptance{RemindAfterMinutes: 5, CancelAfterMinutes: 10}
	change := func(at time.Duration, signals bool, change func(*unaccepted)) func(
		*testsuite.TestWorkflowEnvironment, *unaccepted) {
		return func(env *testsuite.TestWorkflowEnvironment, order *unaccepted) {
			env.RegisterDelayedCallback(func() {
				change(order)
				if signals {
					env.SignalWorkflow(signalWatch, nil)
				}
			}, at)
		}
	}
	nothing := change(0, false, func(*unaccepted) {})
	handle := func(o *unaccepted) { o.handled = true }
	for name, c := range map[string]struct {
		order   unaccepted
		prepare func(*testsuite.TestWorkflowEnvironment, *unaccepted)
		state   app.AcceptanceState
		calls   []time.Duration
	}{
		"off":       {unaccepted{}, nothing, app.AcceptanceOff, []time.Duration{0}},
		"cancelled": {unaccepted{rules: both}, nothing, app.AcceptanceCancelled, []time.Duration{0, 5 * m, 10 * m}},
		"handled": {unaccepted{rules: both}, change(3*m, true, handle), app.AcceptanceHandled,
			[]time.Duration{0, 3 * m}},
		"the signal is lost": {unaccepted{rules: both}, change(3*m, false, handle), app.AcceptanceHandled,
			[]time.Duration{0, 5 * m}},
		"for later": {
			unaccepted{rules: both, since: 60 * m}, nothing, app.AcceptanceCancelled,
			[]time.Duration{0, 60 * m, 65 * m, 70 * m},
		},
		"a reminder alone": {
			unaccepted{rules: app.Acceptance{RemindAfterMinutes: 5}}, change(600*m, true, handle), app.AcceptanceHandled,
			[]time.Duration{0, 5 * m, 600 * m},
		},
		"later deadlines meanwhile": {
			unaccepted{rules: both}, change(3*m, false, func(o *unaccepted) {
				o.rules = app.Acceptance{RemindAfterMinutes: 20, CancelAfterMinutes: 30}
			}), app.AcceptanceCancelled, []time.Duration{0, 5 * m, 20 * m, 30 * m},
		},
		"switched off meanwhile": {
			unaccepted{rules: both}, change(7*m, false, func(o *unaccepted) { o.rules = app.Acceptance{} }),
			app.AcceptanceOff, []time.Duration{0, 5 * m, 10 * m},
		},
		"the clock is set back": {
			unaccepted{rules: both}, change(3*m, false, func(o *unaccepted) { o.behind = 2 * m }),
			app.AcceptanceCancelled, []time.Duration{0, 5 * m, 7 * m, 12 * m},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tick, calls, err := runAcceptance(t, c.order, c.prepare)
			if err != nil || tick.State != c.state {
				t.Errorf("got %+v and error %v, want %s", tick, err, c.state)
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Error("times of the activity (-want +got):", diff)
			}
		})
	}
}

// While an order waits without a deadline, its workflow can be queried and cancelled.
func TestAcceptanceIsCancelled(t *testing.T) {
	t.Parallel()
	rules := app.Acceptance{RemindAfterMinutes: 5}
	_, _, err := runAcceptance(t, unaccepted{rules: rules}, func(env *testsuite.TestWorkflowEnvironment, _ *unaccepted) {
		env.RegisterDelayedCallback(func() {
			var tick app.AcceptanceTick
			state, err := env.QueryWorkflow(QueryState)
			if err == nil {
				err = state.Get(&tick)
			}
			if err != nil || tick.State != app.AcceptanceReminded {
				t.Errorf("state: got %+v and error %v, want reminded", tick, err)
			}
			env.CancelWorkflow()
		}, time.Hour)
	})
	if !temporal.IsCanceledError(err) {
		t.Errorf("cancelled workflow: got error %v, want a CanceledError", err)
	}
}
