package workflows

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
)

// queue is a RelayStore in memory.
type queue struct {
	sync.Mutex
	events  int // waiting, each for one delivery
	queued  []app.Claim
	slow    []app.Claim
	next    int
	started []app.DeliveryID
	failed  []app.DeliveryID
	down    int // how many dispatches fail
	torn    int // how many claims of what is queued fail when they have been made
	moves   int // websites that move up
	endless bool
	asked   int // how often for what is queued
}

func newQueue(events int) *queue { return &queue{events: events} }

func (q *queue) claim() app.Claim {
	q.next++
	return app.Claim{ID: app.DeliveryID(fmt.Sprint(q.next)), Healthy: true}
}

func (q *queue) Dispatch(_ context.Context, _ time.Time, l app.ClaimLimits) (d app.Dispatched, err error) {
	q.Lock()
	defer q.Unlock()
	if q.down > 0 {
		q.down--
		if q.events > 1 { // some have been claimed all the same
			q.events--
			d.Claims = []app.Claim{q.claim()}
		}
		return d, errors.New("the database is away")
	}
	if q.endless {
		d.Events = 1 // nobody asks for it
	}
	for ; q.events > 0 && d.Events < l.Events; d.Events++ {
		q.events--
		if len(d.Claims) < min(l.Batch, 5) { // the rest is queued, to be claimed later
			d.Claims = append(d.Claims, q.claim())
		} else {
			q.queued = append(q.queued, q.claim())
			d.Queued++
		}
	}
	return d, nil
}

func (q *queue) ClaimQueued(_ context.Context, _ time.Time, l app.ClaimLimits) ([]app.Claim, error) {
	q.Lock()
	defer q.Unlock()
	q.asked++
	n := min(l.Batch, len(q.queued))
	claims := slices.Clone(q.queued[:n])
	q.queued = q.queued[n:]
	n = min(l.SlowBatch, len(q.slow))
	claims = append(claims, q.slow[:n]...)
	q.slow = q.slow[n:]
	if q.torn > 0 && len(claims) > 0 {
		q.torn--
		return claims, errors.New("the database is away")
	}
	return claims, nil
}

func (q *queue) ClaimAbandoned(context.Context, time.Time, app.ClaimLimits) ([]app.Claim, error) {
	return nil, nil
}

func (q *queue) MarkStarted(_ context.Context, _ time.Time, ids []app.DeliveryID) error {
	q.Lock()
	defer q.Unlock()
	q.started = append(q.started, ids...)
	return nil
}

func (q *queue) Unclaim(_ context.Context, _ time.Time, ids []app.DeliveryID) error {
	q.Lock()
	defer q.Unlock()
	q.failed = append(q.failed, ids...)
	return nil
}

func (q *queue) HasDue(context.Context, time.Time) (bool, error) {
	q.Lock()
	defer q.Unlock()
	return len(q.queued)+len(q.slow) > 0, nil
}

func (q *queue) MoveUp(context.Context, time.Time) (bool, error) {
	q.Lock()
	defer q.Unlock()
	if q.moves == 0 {
		return false, nil
	}
	if q.moves--; q.moves == 0 {
		q.queued = append(q.queued, q.claim())
	}
	return true, nil
}

// run runs a relay until n workflows have been started, and returns which.
func (q *queue) run(t *testing.T, n int, fails func(app.Claim) bool) []app.DeliveryID {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var lock sync.Mutex
	var started []app.DeliveryID
	start := func(_ context.Context, c app.Claim) error {
		lock.Lock()
		defer lock.Unlock()
		if started = append(started, c.ID); len(started) == n {
			cancel()
		}
		if fails != nil && fails(c) {
			return errors.New("Temporal is away")
		}
		return nil
	}
	listens := 0
	listen := func(ctx context.Context, wake func()) error {
		if listens++; listens == 1 {
			return errors.New("the connection broke")
		}
		wake()
		<-ctx.Done()
		return ctx.Err()
	}
	NewRelay(q, start, listen, time.Now, zerolog.Nop()).Run(ctx)
	return started
}

func TestRelayStartsEverythingOnce(t *testing.T) {
	t.Parallel()
	q := newQueue(3 * dispatchLimit)
	started := q.run(t, 3*dispatchLimit, nil)
	slices.Sort(started)
	if n := len(slices.Compact(slices.Clone(started))); n != 3*dispatchLimit || len(started) != n {
		t.Errorf("started %d, of these %d different", len(started), n)
	}
	slices.Sort(q.started)
	if !slices.Equal(started, q.started) || len(q.failed) > 0 {
		t.Errorf("%d started, %d marked, %d given back", len(started), len(q.started), len(q.failed))
	}
}

func TestRelayGivesBackWhatItCannotStart(t *testing.T) {
	t.Parallel()
	q := newQueue(10)
	q.run(t, 10, func(c app.Claim) bool { return c.ID == "3" || c.ID == "7" })
	slices.Sort(q.failed)
	if !slices.Equal(q.failed, []app.DeliveryID{"3", "7"}) || len(q.started) != 8 {
		t.Errorf("gave back %q, marked %d", q.failed, len(q.started))
	}
}

func TestRelaySurvivesTheDatabasesAbsence(t *testing.T) {
	t.Parallel()
	q := newQueue(2)
	q.queued = []app.Claim{q.claim(), q.claim()}
	q.down, q.torn = 2, 1
	if started := q.run(t, 4, nil); len(started) != 4 {
		t.Errorf("started %d", len(started))
	}
}

// Deliveries that wait for their time start although events never pause.
func TestRelayLooksForWhatIsDueWhileEventsCome(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	q.endless, q.queued = true, []app.Claim{q.claim()}
	ctx, cancel := context.WithCancel(t.Context())
	listen := func(ctx context.Context, wake func()) error {
		for ctx.Err() == nil {
			wake()
			runtime.Gosched()
		}
		return ctx.Err()
	}
	NewRelay(q, func(context.Context, app.Claim) error { cancel(); return nil }, listen, time.Now, zerolog.Nop()).Run(ctx)
}

func TestRelayMovesUpUntilAllHaveMoved(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	q.moves = 3
	if started := q.run(t, 1, nil); len(started) != 1 || q.moves != 0 {
		t.Errorf("started %d, %d still to move", len(started), q.moves)
	}
}

// While all starters have to do with a backlog, of healthy and of slow subscriptions, a new
// event's delivery is the next that starts.
func TestRelayStartsNewDeliveriesBeforeABacklog(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	for range 500 {
		q.queued = append(q.queued, app.Claim{ID: "queued", Healthy: true})
		q.slow = append(q.slow, app.Claim{ID: "slow"})
	}
	ctx, cancel := context.WithCancel(t.Context())
	began, goOn := make(chan app.Claim), make(chan struct{})
	start := func(_ context.Context, c app.Claim) error {
		select {
		case began <- c:
		case <-ctx.Done():
			return nil
		}
		if c.ID == "slow" {
			<-ctx.Done() // nobody lets it go on
			return nil
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return nil
	}
	listening := make(chan func())
	listen := func(ctx context.Context, wake func()) error {
		listening <- wake
		<-ctx.Done()
		return ctx.Err()
	}
	r := NewRelay(q, start, listen, time.Now, zerolog.Nop())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	defer running.Wait()
	defer cancel()
	wake := <-listening
	slow := 0
	for range starters + slowStarters {
		if c := <-began; c.ID == "slow" {
			slow++
		}
	}
	if slow != slowStarters {
		t.Errorf("%d slow ones start beside %d others", slow, starters)
	}
	q.Lock()
	q.events = 1
	q.Unlock()
	wake()
	for len(r.fresh) == 0 {
		runtime.Gosched()
	}
	goOn <- struct{}{}
	if c := <-began; c.ID != "1" {
		t.Errorf("%s starts before the new one", c.ID)
	}
}

// What is queued is claimed in few large batches, however soon the loop looks again: when
// half a batch has been taken off, when there was more of what is slow, and once in a while.
func TestRelayClaimsInLargeBatches(t *testing.T) {
	t.Parallel()
	q := newQueue(0)
	for range 500 {
		q.queued = append(q.queued, app.Claim{ID: "queued", Healthy: true})
	}
	now := time.Now()
	r := NewRelay(q, nil, nil, func() time.Time { return now }, zerolog.Nop())
	claim := func(what string, fresh int, want bool) {
		t.Helper()
		asked, before := q.asked, len(r.queued)+len(r.slow)
		var did progress
		if err := r.claimQueued(t.Context(), &did); err != nil {
			t.Fatal(err)
		}
		if got := len(r.queued) + len(r.slow) - before; got != fresh || (q.asked > asked) != want {
			t.Errorf("%s: claimed %d, want %d; asked %d times", what, got, fresh, q.asked-asked)
		}
	}
	take := func(from chan app.Claim, n int) {
		for range n {
			<-from
		}
	}
	claim("nothing waits for a starter", claimBatch, true)
	take(r.queued, claimBatch/2-1)
	claim("less than half a batch is taken", 0, false)
	take(r.queued, 1)
	claim("half a batch is taken", claimBatch/2, true)
	now = now.Add(idlePoll)
	claim("after a while", 0, true)
	for range 20 {
		q.slow = append(q.slow, app.Claim{ID: "slow"})
	}
	claim("slow ones came", 0, false)
	now = now.Add(idlePoll)
	claim("slow ones came a while ago", slowBatch, true)
	take(r.slow, slowBatch/2)
	claim("there are more slow ones", 4, true)
	claim("there are no more slow ones", 0, false)
}
