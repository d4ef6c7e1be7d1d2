package workflows

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// queue is a RelayStore in memory. Each event becomes one delivery.
type queue struct {
	sync.Mutex
	events, next            int
	queued, slow, abandoned []app.Claim
	started, failed         []app.Claim
	retryAt                 time.Time
	away                    map[string]int    // step → how often it fails
	searches                []app.ClaimLimits // of queued deliveries
}

func (q *queue) enter(step string) (leave func(), err error) {
	q.Lock()
	if q.away[step] > 0 {
		q.away[step]--
		err = errors.New("the database is away")
	}
	return q.Unlock, err
}

func (q *queue) claim() app.Claim {
	q.next++
	return app.Claim{ID: app.DeliveryID(fmt.Sprint(q.next)), Generation: 7, Healthy: true, Quick: true}
}

func (q *queue) enqueue(n int) *queue {
	for range n {
		q.queued = append(q.queued, q.claim())
	}
	return q
}

func (q *queue) Dispatch(_ context.Context, _ time.Time, limit int) (d app.Dispatched, err error) {
	leave, err := q.enter("dispatch")
	defer leave()
	if err == nil {
		d.Events = min(limit, q.events)
		q.events -= d.Events
		q.enqueue(d.Events)
	}
	return d, err
}

// Claim fails after some claims have been made.
func (q *queue) Claim(_ context.Context, _ time.Time, l app.ClaimLimits) (app.Claimed, error) {
	leave, err := q.enter("claim")
	defer leave()
	q.searches = append(q.searches, l)
	claims := append(take(&q.queued, l.Batch), take(&q.slow, l.SlowBatch)...)
	return app.Claimed{Claims: claims, More: len(q.queued)+len(q.slow) > 0}, err
}

func take(from *[]app.Claim, n int) []app.Claim {
	n = min(n, len(*from))
	taken := slices.Clone((*from)[:n])
	*from = (*from)[n:]
	return taken
}

func (q *queue) ClaimAbandoned(_ context.Context, _ time.Time, l app.ClaimLimits) ([]app.Claim, error) {
	leave, err := q.enter("take over")
	defer leave()
	if err != nil {
		return nil, err
	}
	return take(&q.abandoned, l.Batch), nil
}

func (q *queue) MarkStarted(_ context.Context, _ time.Time, claims []app.Claim) error {
	leave, err := q.enter("mark")
	defer leave()
	q.started = append(q.started, claims...)
	return err
}

func (q *queue) Unclaim(_ context.Context, retryAt time.Time, claims []app.Claim) error {
	leave, err := q.enter("unclaim")
	defer leave()
	q.failed, q.retryAt = append(q.failed, claims...), retryAt
	return err
}

// relayTest runs a relay in a bubble, where time passes only while everything waits.
type relayTest struct {
	*queue
	*Relay

	lock  sync.Mutex
	units []string                         // ids that started together, in the order of their starts
	takes time.Duration                    // the duration of a start
	fails func(app.Claim) error            // of a start; nil = none
	hangs func(context.Context, app.Claim) // during a start; nil = never
	log   bytes.Buffer
}

var testLimits = app.ClaimLimits{Batch: 64, SlowBatch: 16, Quick: 200, Lease: 10 * time.Second}

// runRelay runs a relay until test returns.
func runRelay(t *testing.T, q *queue, test func(*relayTest)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &relayTest{queue: q}
		listen := func(ctx context.Context, _ func()) error {
			<-ctx.Done()
			return ctx.Err()
		}
		r.Relay = NewRelay(q, r.start, listen, testLimits, time.Now, zerolog.New(&r.log))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { r.Run(ctx) })
		test(r)
		cancel()
		running.Wait()
	})
}

func (r *relayTest) start(ctx context.Context, claims []app.Claim) error {
	time.Sleep(r.takes)
	if r.hangs != nil {
		r.hangs(ctx, claims[0])
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.units = append(r.units, ids(claims))
	if r.fails != nil {
		return r.fails(claims[0])
	}
	return nil
}

func ids(claims []app.Claim) string {
	var ids []string
	for _, claim := range claims {
		ids = append(ids, string(claim.ID))
	}
	return strings.Join(ids, "+")
}

func (r *relayTest) starts() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.units)
}

// A relay marks what it has started, by the generation of the claim.
func TestRelayStartsEverythingOnce(t *testing.T) {
	q := &queue{events: 3 * dispatchLimit, abandoned: []app.Claim{{ID: "abandoned", Generation: 7}}}
	runRelay(t, q, func(r *relayTest) { time.Sleep(10 * time.Second) })
	started := map[app.DeliveryID]bool{}
	for _, claim := range q.started {
		started[claim.ID] = claim.Generation == 7
	}
	if n := len(q.started); n != 3*dispatchLimit+1 || n != len(started) || len(q.failed) > 0 || !started["abandoned"] {
		t.Errorf("%d marked, %d different, %d given back", len(q.started), len(started), len(q.failed))
	}
}

func TestRelayGivesBackWhatItCannotStart(t *testing.T) {
	q := &queue{events: 10}
	var began time.Time
	runRelay(t, q, func(r *relayTest) {
		began = time.Now()
		r.fails = func(c app.Claim) error {
			if c.ID == "3" || c.ID == "7" {
				return errors.New("Temporal is away")
			}
			return nil
		}
		time.Sleep(markEvery)
	})
	slices.SortFunc(q.failed, func(a, b app.Claim) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if ids(q.failed) != "3+7" || q.failed[0].Generation != 7 || len(q.started) != 8 {
		t.Errorf("gave back %v, marked %d", q.failed, len(q.started))
	}
	if after := q.retryAt.Sub(began); after != markEvery+unclaimDelay {
		t.Errorf("gave back until %s", after)
	}
}

// Each step that fails is logged as what it is, and repeated.
func TestRelaySurvivesTheDatabasesAbsence(t *testing.T) {
	q := &queue{events: 4, abandoned: []app.Claim{{ID: "abandoned"}}}
	q.away = map[string]int{"dispatch": 2, "claim": 2, "take over": 2, "mark": 1, "unclaim": 1}
	q.enqueue(3)
	runRelay(t, q, func(r *relayTest) {
		r.fails = func(c app.Claim) error {
			if c.ID == "2" {
				return errors.New("Temporal is away")
			}
			return nil
		}
		time.Sleep(10 * time.Second)
		if r.starts() != 8 {
			t.Errorf("started %q", r.units)
		}
		for _, phrase := range []string{
			"dispatch events", "claim deliveries", "take over", "could not be recorded", "given back",
		} {
			if !strings.Contains(r.log.String(), phrase) {
				t.Errorf("nothing is logged of %q", phrase)
			}
		}
	})
}

// A notification starts a delivery without any pause. Without a notification a relay looks
// once a second.
func TestRelayWakes(t *testing.T) {
	q := &queue{}
	runRelay(t, q, func(r *relayTest) {
		time.Sleep(100 * ms)
		q.Lock()
		q.events = 1
		q.Unlock()
		r.Wake()
		synctest.Wait()
		if r.starts() != 1 {
			t.Error("a notification started nothing")
		}
		q.Lock()
		q.events = 1
		q.Unlock()
		time.Sleep(idlePoll)
		synctest.Wait()
		if r.starts() != 2 {
			t.Error("after a second nothing has started")
		}
	})
}

// A queued delivery starts although notifications of other events never pause.
func TestRelayClaimsWhileEventsCome(t *testing.T) {
	runRelay(t, new(queue).enqueue(1), func(r *relayTest) {
		for range 100 {
			r.Wake()
			time.Sleep(ms)
		}
		if r.starts() != 1 {
			t.Error("the queued delivery has not started")
		}
	})
}

// Deliveries start in the order in which they were claimed: those of a backlog before those of
// new events.
func TestRelayStartsInOrder(t *testing.T) {
	q := new(queue).enqueue(500)
	runRelay(t, q, func(r *relayTest) {
		r.takes = 5 * ms
		q.Lock()
		q.events = 10_000
		q.Unlock()
		r.Wake()
		time.Sleep(400 * ms) // for 640 starts
		for i, unit := range r.units {
			if id, _ := strconv.Atoi(unit); id < i+1-healthyStarters.max || id > i+1+healthyStarters.max {
				t.Errorf("delivery %d is number %d that starts", id, i+1)
			}
		}
		if n := len(r.units); n < 600 {
			t.Errorf("only %d have started", n)
		}
		drop(q)
	})
}

// drop removes what is not claimed.
func drop(q *queue) {
	q.Lock()
	defer q.Unlock()
	q.events, q.queued = 0, nil
}

// Starts of failing and slow subscriptions that hang delay nobody else.
func TestRelayKeepsSlowStartsApart(t *testing.T) {
	q := new(queue).enqueue(200)
	for range 100 {
		q.slow = append(q.slow, app.Claim{ID: "slow", Healthy: true})
	}
	runRelay(t, q, func(r *relayTest) {
		r.hangs = func(ctx context.Context, c app.Claim) {
			if c.ID == "slow" {
				<-ctx.Done()
			}
		}
		time.Sleep(time.Second)
		if n := r.starts(); n != 200 {
			t.Errorf("%d have started", n)
		}
		if waiting := len(q.slow); waiting != 100-testLimits.SlowBatch-otherStarters.min {
			t.Errorf("%d slow deliveries are not claimed", waiting)
		}
		q.Lock()
		q.slow = nil
		q.Unlock()
	})
}

// While the starters are busy, queued deliveries are claimed in few large batches.
func TestRelayClaimsInLargeBatches(t *testing.T) {
	q := new(queue).enqueue(1000)
	runRelay(t, q, func(r *relayTest) {
		r.takes = 5 * ms
		time.Sleep(5 * time.Second)
		if n := r.starts(); n != 1000 {
			t.Errorf("%d have started", n)
		}
	})
	small := 0
	for _, limits := range q.searches {
		if limits.Batch < testLimits.Batch/2 {
			small++
		}
	}
	if n := len(q.searches); small > 0 || n > 1000/(testLimits.Batch/2)+6 {
		t.Errorf("%d searches, %d of them for less than half a batch", n, small)
	}
}

// The deliveries of a burst start together.
func TestRelayStartsBursts(t *testing.T) {
	q := new(queue).enqueue(5)
	q.queued[1].BurstID, q.queued[3].BurstID = "bst_1", "bst_1"
	runRelay(t, q, func(r *relayTest) {
		time.Sleep(time.Second)
		slices.Sort(r.units)
		if got := strings.Join(r.units, " "); got != "1 2+4 3 5" {
			t.Errorf("started %s", got)
		}
	})
	if len(q.started) != 5 {
		t.Errorf("marked %d", len(q.started))
	}
}

// Behind a network more starts run concurrently, so that a relay is not limited by latency.
func TestRelayAdaptsToLatency(t *testing.T) {
	runRelay(t, new(queue).enqueue(20_000), func(r *relayTest) {
		r.takes = 35 * ms
		time.Sleep(10 * time.Second)
		if n := r.starts(); n < 10_000 { // with eight starters: 2,280
			t.Errorf("only %d have started", n)
		}
		drop(r.queue)
	})
}

// A relay that ends starts what it has claimed.
func TestRelayFinishesItsClaims(t *testing.T) {
	q := new(queue).enqueue(64)
	runRelay(t, q, func(r *relayTest) {
		r.takes = 100 * ms
		time.Sleep(50 * ms)
	})
	if len(q.started) != 64 {
		t.Errorf("%d of 64 have started", len(q.started))
	}
}
