package workflows

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/api/serviceerror"

	"github.com/comanda-dev/comanda/app"
)

func reachable(context.Context) error { return nil }

// silent listens to a channel without notifications.
func silent(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return ctx.Err()
}

// sharedQueue is the queue of several relays. Claims that one of them releases can be claimed again.
type sharedQueue struct {
	*queue
	searches *atomic.Int64 // of this relay
}

func (q sharedQueue) Claim(ctx context.Context, now time.Time, l app.ClaimLimits) (app.Claimed, error) {
	q.searches.Add(1)
	return q.queue.Claim(ctx, now, l)
}

func (q sharedQueue) ClaimAbandoned(ctx context.Context, now time.Time, l app.ClaimLimits) ([]app.Claim, error) {
	q.searches.Add(1)
	return q.queue.ClaimAbandoned(ctx, now, l)
}

func (q sharedQueue) Unclaim(_ context.Context, retryAt time.Time, claims []app.Claim) error {
	q.Lock()
	defer q.Unlock()
	q.failed = append(q.failed, claims...)
	time.AfterFunc(time.Until(retryAt), func() { q.change(func() { q.abandoned = append(q.abandoned, claims...) }) })
	return nil
}

// remote is Temporal as one relay sees it.
type remote struct {
	sync.Mutex
	away    func(context.Context) error // nil = reachable
	healthy bool                        // probes succeed although starts fail
	started []string
}

func (r *remote) failure() func(context.Context) error {
	r.Lock()
	defer r.Unlock()
	return r.away
}

func (r *remote) start(ctx context.Context, claims []app.Claim) error {
	if away := r.failure(); away != nil {
		return away(ctx)
	}
	r.Lock()
	defer r.Unlock()
	r.started = append(r.started, ids(claims))
	return nil
}

func (r *remote) probe(ctx context.Context) error {
	if away := r.failure(); away != nil && !r.healthy {
		return away(ctx)
	}
	return nil
}

// change makes Temporal reachable, or not, and returns the deliveries started so far.
func (r *remote) change(away func(context.Context) error) []string {
	synctest.Wait()
	r.Lock()
	defer r.Unlock()
	r.away = away
	return slices.Clone(r.started)
}

// A relay that cannot reach Temporal, or whose worker has no free connections, leaves its claims to other relays and
// claims nothing until a probe succeeds.
func TestRelayWithoutTemporal(t *testing.T) {
	t.Parallel()
	refused := func(context.Context) error { return serviceerror.NewUnavailable("connection refused") }
	dropped := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, away := range map[string]func(context.Context) error{
		"connections are refused": refused, "packets are dropped": dropped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				shared := &queue{}
				var remotes [2]remote
				var searches [2]atomic.Int64
				var stops [2]context.CancelFunc
				var running sync.WaitGroup
				remotes[0].away = away
				for i := range remotes {
					ctx, stop := context.WithCancel(t.Context())
					stops[i] = stop
					gate := NewGate(remotes[i].probe, zerolog.Nop())
					relay := NewRelay(sharedQueue{shared, &searches[i]}, remotes[i].start, gate, silent, testLimits,
						time.Now, zerolog.Nop())
					running.Go(func() { gate.Run(ctx) })
					running.Go(func() { relay.Run(ctx) })
					if i == 0 { // it claims first
						shared.change(func() { shared.enqueue(500) })
						relay.Wake()
						time.Sleep(50 * ms)
					}
				}
				time.Sleep(4 * time.Second)
				if n := len(remotes[1].change(nil)); n != 500 {
					t.Errorf("the other relay started %d deliveries in less than half of a lease, want all 500", n)
				}
				before := searches[0].Load()
				time.Sleep(time.Minute)
				if n := searches[0].Load() - before; n != 0 {
					t.Errorf("the relay without Temporal searched for deliveries %d times within a minute, want never", n)
				}
				remotes[0].change(nil)
				stops[1]()
				shared.change(func() { shared.enqueue(100) })
				time.Sleep(3 * time.Second)
				if n := len(remotes[0].change(nil)); n != 100 {
					t.Errorf("the relay started %d deliveries after Temporal was reachable again, want 100", n)
				}
				stops[0]()
				running.Wait()
			})
		})
	}
}

// If starts fail although probes succeed, the relay tries again once a second, not without pause.
func TestRelayWithFailingStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := (&queue{}).enqueue(100)
		temporal := remote{healthy: true, away: func(context.Context) error {
			return serviceerror.NewUnavailable("the database of Temporal is away")
		}}
		var searches atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		gate := NewGate(temporal.probe, zerolog.Nop())
		relay := NewRelay(sharedQueue{shared, &searches}, temporal.start, gate, silent, testLimits, time.Now,
			zerolog.Nop())
		var running sync.WaitGroup
		running.Go(func() { gate.Run(ctx) })
		running.Go(func() { relay.Run(ctx) })
		time.Sleep(10 * time.Second)
		if n := searches.Load(); n > 100 {
			t.Errorf("%d searches within ten seconds, want at most 100", n)
		}
		temporal.change(nil)
		time.Sleep(markEvery + unclaimDelay + 2*time.Second)
		if n := len(temporal.change(nil)); n != 100 {
			t.Errorf("%d starts after Temporal worked again, want 100", n)
		}
		stop()
		running.Wait()
	})
}

// A start that times out although Temporal works ends no other start, and only its claim is released.
func TestRelayWithOneSlowStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := (&queue{}).enqueue(4)
		var lock sync.Mutex
		tries := map[string]int{}
		start := func(ctx context.Context, claims []app.Claim) error {
			lock.Lock()
			tries[ids(claims)]++
			lock.Unlock()
			if claims[0].ID == "1" {
				time.Sleep(5 * time.Second)
				return serviceerror.NewDeadlineExceeded("one shard is away")
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(7 * time.Second):
				return nil
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		gate := NewGate(reachable, zerolog.Nop())
		var running sync.WaitGroup
		running.Go(func() { gate.Run(ctx) })
		running.Go(func() {
			NewRelay(shared, start, gate, silent, testLimits, time.Now, zerolog.Nop()).Run(ctx)
		})
		time.Sleep(10 * time.Second)
		stop()
		running.Wait()
		if ids(shared.failed) != "1" || len(shared.started) != 3 {
			t.Errorf("released: %s, started: %s, want only the first released", ids(shared.failed), ids(shared.started))
		}
		if want := map[string]int{"1": 1, "2": 1, "3": 1, "4": 1}; !maps.Equal(tries, want) {
			t.Errorf("starts by delivery: got %v, want %v", tries, want)
		}
	})
}
