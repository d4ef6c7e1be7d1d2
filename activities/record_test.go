package activities

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/comanda-dev/comanda/app"
)

// An attempt that could not be recorded is recorded by the next execution of the activity, which makes no POST.
func TestUnrecordedAttemptIsNotRepeated(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	store := &memory{outgoing: outgoing(url), refuse: 2}
	d := newDeliveries(e, store)
	for try := range 3 {
		_, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1})
		if (err != nil) != (try < 2) {
			t.Errorf("execution %d: %v, want an error: %v", try, err, try < 2)
		}
	}
	if calls.Load() != 1 || len(store.made) != 1 {
		t.Errorf("%d POSTs, %d records, want one of each", calls.Load(), len(store.made))
	}
}

// An attempt that could not be recorded is not the first attempt of a replay that has the same number.
func TestReplayIsMadeDespiteAnUnrecordedAttempt(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	replayed := outgoing(url)
	replayed.Replays = 1
	store := &memory{outgoing: outgoing(url), refuse: 1}
	d := newDeliveries(e, store)
	if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 6}); err == nil {
		t.Errorf("last attempt of the schedule: got %+v, want an error", got)
	}
	store.set(replayed)
	got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 6, RetryIn: time.Minute})
	if err != nil || got.Outcome != OutcomeDelivered || calls.Load() != 2 || len(store.made) != 1 {
		t.Errorf("first attempt of the replay: got %+v, error %v, %d POSTs and %d records, want 2 and 1", got, err,
			calls.Load(), len(store.made))
	}
}

// locked is a Store whose first writes wait for a lock for too long.
type locked struct {
	*memory

	writes int // that fail
}

func (l *locked) RecordAttempt(ctx context.Context, made app.MadeAttempt) (bool, error) {
	if l.writes--; l.writes >= 0 {
		return false, app.Unavailable(time.Second)
	}
	return l.memory.RecordAttempt(ctx, made)
}

// An attempt whose rows are locked is recorded in the same execution of the activity, because the next one may be that
// of another worker. Rows that stay locked do not keep it for longer than the limit.
func TestRecordWaitsForLocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			writes int
			code   app.Code
		}{{3, ""}, {1000, app.CodeUnavailable}} {
			store := &locked{&memory{}, test.writes}
			d := newDeliveries(nil, store)
			began := time.Now()
			got, err := d.record(t.Context(), app.MadeAttempt{Number: 1, Status: app.AttemptDelivered})
			if app.CodeOf(err) != test.code || err == nil && (got.Outcome != OutcomeDelivered || len(store.made) != 1) {
				t.Errorf("%d failures: got %+v, error %v, %d records, want code %q", test.writes, got, err,
					len(store.made), test.code)
			}
			if took := time.Since(began); took > d.policy.Record {
				t.Errorf("%d failures: it took %s, want at most %s", test.writes, took, d.policy.Record)
			}
		}
	})
}

// stalled is a Store that blocks writes until their context is done.
type stalled struct{ *memory }

func (stalled) RecordAttempt(ctx context.Context, _ app.MadeAttempt) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

func (s stalled) RecordTest(ctx context.Context, made app.MadeAttempt) error {
	_, err := s.RecordAttempt(ctx, made)
	return err
}

func (s stalled) EndLoaded(
	ctx context.Context, _ time.Time, _ app.DeliveryID, _ int, _ app.DeliveryStatus, _ string,
) error {
	return s.RecordTest(ctx, app.MadeAttempt{})
}

// An attempt ends within its limit even if the database does not respond.
func TestRecordTimeout(t *testing.T) {
	t.Parallel()
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) {})
	inactive := outgoing(url)
	inactive.Active = false
	for _, out := range []app.Outgoing{outgoing(url), inactive} {
		d := newDeliveries(e, stalled{&memory{outgoing: out}})
		d.policy.Record = time.Millisecond
		if got, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Deliver: %+v, %v, want %v", got, err, context.DeadlineExceeded)
		}
		if got, err := d.Test(t.Context(), app.WebhookTest{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Test: %+v, %v, want %v", got, err, context.DeadlineExceeded)
		}
	}
}

// The next execution may run on another worker, so entries must expire.
func TestUnrecordedAttemptsExpire(t *testing.T) {
	t.Parallel()
	var u unrecorded
	keep := func(key string, after time.Duration) { u.keep(key, app.MadeAttempt{}, eventAt.Add(after)) }
	keep("left", 0)
	keep("tried again", 0)
	keep("tried again", unrecordedFor)
	keep("new", unrecordedFor+time.Second)
	kept := slices.Sorted(maps.Keys(u.attempts))
	if diff := cmp.Diff([]string{"new", "tried again"}, kept); diff != "" {
		t.Errorf("kept attempts (-want +got):\n%s", diff)
	}
}

// If two workers make the same attempt, both return the result that was recorded first.
func TestFirstRecordWins(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		first, second int // status
		want          DeliverResult
	}{
		"a failure before a success": {503, 200, DeliverResult{Outcome: OutcomeFailed, Reason: "HTTP 503"}},
		"a success before a failure": {200, 503, DeliverResult{Outcome: OutcomeDelivered}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.want.StatusCode, test.want.Quick = test.first, true
			var calls atomic.Int32
			both, recorded := make(chan struct{}), make(chan struct{})
			e, url := receiver(t, time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				if calls.Add(1) == 1 {
					<-both
					w.WriteHeader(test.first)
					return
				}
				close(both)
				<-recorded
				w.WriteHeader(test.second)
			})
			store := &memory{outgoing: outgoing(url)}
			workers := [2]*Deliveries{newDeliveries(e, store), newDeliveries(e, store)}
			var ended sync.WaitGroup
			var once sync.Once
			for _, worker := range workers {
				ended.Go(func() {
					got, err := worker.Deliver(t.Context(), DeliverInput{Attempt: 1, RetryIn: time.Minute})
					if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
						t.Errorf("error %v, result (-want +got):\n%s", err, diff)
					}
					once.Do(func() { close(recorded) })
				})
			}
			ended.Wait()
			counted := 0.0
			for _, worker := range workers {
				for _, outcome := range []Outcome{OutcomeDelivered, OutcomeFailed} {
					counted += testutil.ToFloat64(worker.metrics.made.WithLabelValues(string(outcome)))
				}
				if len(worker.unrecorded.attempts) > 0 {
					t.Error("a recorded attempt is still kept in memory")
				}
			}
			if counted != 1 || len(store.made) != 1 {
				t.Errorf("metric counts %v attempts, recorded %+v, want one of each", counted, store.made)
			}
		})
	}
}
