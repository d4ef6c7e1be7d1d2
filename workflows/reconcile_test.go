package workflows

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// overdueList is a ReconcileStore whose deliveries are overdue until they are removed.
type overdueList struct {
	sync.Mutex
	all      []app.Overdue
	checked  map[app.DeliveryID]time.Time
	repaired []app.Claim
	jobs     []time.Duration // arguments of EnqueueLostJobs
	err      error
}

func (l *overdueList) Overdue(
	_ context.Context, now time.Time, after time.Duration, limit int,
) (b app.OverdueBatch, err error) {
	l.Lock()
	defer l.Unlock()
	for _, row := range l.all {
		if now.Sub(l.checked[row.ID]) < time.Minute || after != 3*time.Minute {
			continue
		}
		if len(b.Claims) == limit {
			b.Left++
			continue
		}
		l.checked[row.ID] = now
		b.Claims = append(b.Claims, row)
	}
	return b, l.err
}

func (l *overdueList) EnqueueLostJobs(_ context.Context, _ time.Time, after time.Duration) (int, error) {
	l.Lock()
	defer l.Unlock()
	l.jobs = append(l.jobs, after)
	return len(l.jobs), l.err
}

func (l *overdueList) Repaired(_ context.Context, claims []app.Claim) error {
	l.Lock()
	defer l.Unlock()
	l.repaired = append(l.repaired, claims...)
	return l.err
}

// workflowsByEvent is a DeliveryWorkflows with given states of deliveries and bursts.
type workflowsByEvent struct {
	sync.Mutex
	states  map[app.EventID]WorkflowState
	bursts  map[app.BurstID]bool // true = open
	did     []string
	lookups int
	err     error
}

func (w *workflowsByEvent) DeliveryWorkflowState(
	_ context.Context, e app.EventID, _ app.SubscriptionID,
) (WorkflowState, error) {
	w.Lock()
	defer w.Unlock()
	w.lookups++
	return w.states[e], w.err
}

func (w *workflowsByEvent) BurstOpen(_ context.Context, burst app.BurstID) (bool, error) {
	w.Lock()
	defer w.Unlock()
	w.lookups++
	return w.bursts[burst], w.err
}

func (w *workflowsByEvent) do(format string, args ...any) error {
	w.Lock()
	defer w.Unlock()
	w.did = append(w.did, fmt.Sprintf(format, args...))
	return w.err
}

func (w *workflowsByEvent) StartDelivery(_ context.Context, c app.Claim) error {
	return w.do("start %s, repair %v, place %d", c.ID, c.Repair, c.Place)
}

func (w *workflowsByEvent) RestartDelivery(_ context.Context, c app.Claim) error {
	return w.do("restart %s", c.ID)
}

func (w *workflowsByEvent) ReplayDeadLetter(
	_ context.Context, e app.EventID, _ app.SubscriptionID, read time.Time,
) error {
	return w.do("signal %s, read %s ago", e, time.Since(read).Truncate(time.Second))
}

// reconcile runs a reconciler for a duration and returns it with its log.
func reconcile(t *testing.T, list *overdueList, w *workflowsByEvent, run time.Duration) (*Reconciler, string) {
	t.Helper()
	list.checked = map[app.DeliveryID]time.Time{}
	var log bytes.Buffer
	r := NewReconciler(
		list, w, 3*time.Minute, time.Now, prometheus.NewRegistry(), zerolog.New(zerolog.SyncWriter(&log)),
	)
	ctx, cancel := context.WithTimeout(t.Context(), run)
	defer cancel()
	r.Run(ctx)
	return r, log.String()
}

func overdue(id string, state WorkflowState, burst app.BurstID, w *workflowsByEvent) app.Overdue {
	w.states[app.EventID(id)] = state
	return app.Overdue{Status: app.DeliveryRetrying, Claim: app.Claim{
		ID: app.DeliveryID(id), EventID: app.EventID(id), SubscriptionID: "whk_1", Place: 2, BurstID: burst,
	}}
}

func newWorkflows() *workflowsByEvent {
	return &workflowsByEvent{states: map[app.EventID]WorkflowState{}, bursts: map[app.BurstID]bool{"bst_open": true}}
}

func TestReconcilerRepairs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkflows()
		list := &overdueList{all: []app.Overdue{
			overdue("a", WorkflowOpen, "", w), overdue("b", WorkflowClosed, "", w), overdue(
				"c", WorkflowUnknown, "", w,
			),
			overdue("d", WorkflowDeadLetter, "", w), overdue("e", WorkflowStuck, "", w),
			overdue("f", WorkflowUnknown, "bst_open", w), overdue("g", WorkflowUnknown, "bst_closed", w),
			overdue("h", WorkflowOpen, "bst_closed", w), overdue("i", WorkflowClosed, "bst_open", w),
		}}
		r, log := reconcile(t, list, w, time.Second)
		slices.Sort(w.did)
		want := []string{
			"restart e", "signal d, read 0s ago", "start b, repair true, place 2", "start c, repair true, place 2",
			"start g, repair true, place 2", "start i, repair true, place 2",
		}
		if diff := cmp.Diff(want, w.did); diff != "" {
			t.Errorf("repairs (-want +got):\n%s", diff)
		}
		if n := strings.Count(log, "repaired an overdue delivery"); n != len(want) {
			t.Errorf("%d repairs in the log, want %d:\n%s", n, len(want), log)
		}
		if n := len(list.repaired); n != len(want) {
			t.Errorf("recorded repairs %s, want %d", ids(list.repaired), len(want))
		}
		for reason, want := range map[string]float64{"closed": 2, "unknown": 2, "dead_letter": 1, "stuck": 1} {
			if got := testutil.ToFloat64(r.reconciled.WithLabelValues(reason)); got != want {
				t.Errorf("metric for %q: %v, want %v", reason, got, want)
			}
		}
	})
}

// Every overdue delivery is checked within a minute, and the rate of lookups is limited.
func TestReconcilerChecksAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, list := newWorkflows(), &overdueList{}
		for i := range 2 * reconcileBatch {
			list.all = append(list.all, overdue(fmt.Sprint(i), WorkflowOpen, "", w))
		}
		reconcile(t, list, w, 10*time.Second)
		if w.lookups < 10*lookupsPerSecond || w.lookups > 10*lookupsPerSecond+lookupsAtOnce+1 {
			t.Errorf("%d lookups in ten seconds, want about %d", w.lookups, 10*lookupsPerSecond)
		}
		w.lookups = 0
		reconcile(t, list, w, 55*time.Second)
		if w.lookups != len(list.all) {
			t.Errorf("%d lookups in a minute, want %d", w.lookups, len(list.all))
		}
	})
}

// Lost jobs are enqueued every minute, also if overdue deliveries need more lookups than one minute allows, so that a
// pass does not end.
func TestReconcilerEnqueuesJobsDuringLongPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, list := newWorkflows(), &overdueList{}
		for i := range 2 * 60 * lookupsPerSecond {
			list.all = append(list.all, overdue(fmt.Sprint(i), WorkflowOpen, "", w))
		}
		reconcile(t, list, w, 4*time.Minute+30*time.Second)
		if diff := cmp.Diff(slices.Repeat([]time.Duration{3 * time.Minute}, 5), list.jobs); diff != "" {
			t.Errorf("calls of EnqueueLostJobs (-want +got):\n%s", diff)
		}
	})
}

// While Temporal is unreachable, a pass ends early and records no repairs. The next pass continues.
func TestReconcilerWithoutTemporal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, list := newWorkflows(), &overdueList{}
		for i := range reconcileBatch + 1 {
			list.all = append(list.all, overdue(fmt.Sprint(i), WorkflowClosed, "", w))
		}
		w.err = errAway
		_, log := reconcile(t, list, w, 30*time.Second)
		if w.lookups > maxFailedLookups+lookupsAtOnce || len(list.repaired) > 0 {
			t.Errorf("%d lookups, repaired %s, want at most %d lookups and no repairs",
				w.lookups, ids(list.repaired), maxFailedLookups+lookupsAtOnce)
		}
		if n := strings.Count(log, "cannot check overdue deliveries"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, log)
		}
		w.err, w.did = nil, nil
		reconcile(t, list, w, 15*time.Second)
		if len(w.did) != len(list.all) {
			t.Errorf("%d repairs, want %d", len(w.did), len(list.all))
		}
	})
}

// A metric shows overdue deliveries beyond the number that can be checked in time.
func TestReconcilerBeyondBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, list := newWorkflows(), &overdueList{}
		for i := range maxOverdue + 7 {
			list.all = append(list.all, overdue(fmt.Sprint(i), WorkflowOpen, "", w))
		}
		r, _ := reconcile(t, list, w, time.Second)
		if beyond := testutil.ToFloat64(r.beyond); beyond != 7 {
			t.Errorf("overdue beyond the bound: %v, want 7", beyond)
		}
	})
}

func TestReconcilerWithoutDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorkflows()
		list := &overdueList{err: errAway, all: []app.Overdue{overdue("a", WorkflowClosed, "", w)}}
		_, log := reconcile(t, list, w, 90*time.Second)
		if n := strings.Count(log, "cannot read overdue deliveries"); n != 2 || len(w.did) > 0 {
			t.Errorf("logged %d times, repairs %q, want twice and none", n, w.did)
		}
	})
}

// If deliveries count as overdue earlier, the passes are more frequent.
func TestReconcilerInterval(t *testing.T) {
	t.Parallel()
	for after, passes := range map[time.Duration]int{time.Hour: 2, 3 * time.Minute: 2, 20 * time.Second: 5} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			list := &overdueList{err: errAway}
			r := NewReconciler(list, newWorkflows(), after, time.Now, prometheus.NewRegistry(),
				zerolog.New(zerolog.SyncWriter(&log)))
			ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
			defer cancel()
			r.Run(ctx)
			if n := strings.Count(log.String(), "cannot read overdue deliveries"); n != passes {
				t.Errorf("after %s: %d passes in 90 s, want %d", after, n, passes)
			}
			if diff := cmp.Diff(slices.Repeat([]time.Duration{after}, passes), list.jobs); diff != "" {
				t.Errorf("calls of EnqueueLostJobs (-want +got):\n%s", diff)
			}
		})
	}
}
