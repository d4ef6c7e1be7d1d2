package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// queue is a RelayStore in memory. Each event becomes one delivery.
type queue struct {
	sync.Mutex
	events, next            int
	queued, slow, abandoned []app.Claim
	started, failed         []app.Claim
	requeued                []app.Claim
	retryAt                 time.Time
	away                    map[string]int    // number of failures by step
	searches                []app.ClaimLimits // limits of the calls of Claim

	dispatchTakes, claimTakes, takeOverTakes time.Duration
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
	time.Sleep(q.dispatchTakes)
	leave, err := q.enter("dispatch")
	defer leave()
	if err == nil {
		d.Events = min(limit, q.events)
		d.Deliveries = d.Events
		q.events -= d.Events
		d.More = d.Events == limit
		q.enqueue(d.Events)
	}
	return d, err
}

// Claim returns an error after some claims.
func (q *queue) Claim(_ context.Context, _ time.Time, l app.ClaimLimits) (app.Claimed, error) {
	time.Sleep(q.claimTakes)
	leave, err := q.enter("claim")
	defer leave()
	q.searches = append(q.searches, l)
	free := slices.IndexFunc(q.slow, func(c app.Claim) bool { return slices.Contains(l.Late, c.Queue) })
	if free < 0 {
		free = len(q.slow)
	}
	claims := append(take(&q.queued, l.Batch), take(&q.slow, min(free, l.SlowBatch))...)
	return app.Claimed{Claims: claims, More: len(q.queued)+len(q.slow) > 0}, err
}

func take(from *[]app.Claim, n int) []app.Claim {
	n = min(n, len(*from))
	taken := slices.Clone((*from)[:n])
	*from = (*from)[n:]
	return taken
}

func (q *queue) ClaimAbandoned(_ context.Context, _ time.Time, l app.ClaimLimits) ([]app.Claim, error) {
	time.Sleep(q.takeOverTakes)
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

func (q *queue) Requeue(_ context.Context, claims []app.Claim) error {
	leave, err := q.enter("requeue")
	defer leave()
	q.requeued = append(q.requeued, claims...)
	return err
}

// change changes the waiting work in the database.
func (q *queue) change(change func()) {
	q.Lock()
	defer q.Unlock()
	change()
}
