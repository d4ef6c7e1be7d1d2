package delivery

import (
	"context"
	_ "embed"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery/schedule"
	"github.com/comanda-dev/comanda/persistence/pg"
)

var (
	//go:embed queries/claim.sql
	claimStatement string
	//go:embed queries/claim_abandoned.sql
	claimAbandonedStatement string
	//go:embed queries/mark_started.sql
	markStartedStatement string
	//go:embed queries/unclaim.sql
	unclaimStatement string
	//go:embed queries/requeue.sql
	requeueStatement string
	//go:embed queries/release_dead.sql
	releaseDeadStatement string
)

// lapsedReads is the maximum number of abandoned claims that one takeover reads: more than a relay leaves.
const lapsedReads = 4_096

// pastWindows is the number of windows that are kept after their end: the database's clock may be set back, and then
// they have already made their starts.
const pastWindows = 24

// claimReads is the maximum number of times that [Queue.Claim] reads candidates while it claims nothing and parts of
// the queues are unread, or other relays claim the candidates.
const claimReads = 4

// Claim makes queued deliveries pending, within the limits. Websites take turns, and so do the
// subscriptions of a website. It reads a bounded part of the queues, independent of their size.
//
// Claim is the only place that enforces plans (docs/behaviour.md#plan-rate). One statement reads candidates, package
// schedule decides which of them start, and another statement claims these and counts them in their windows. A limited
// queue that another relay is claiming from is skipped, and in the last second of a window all limited queues.
//
// A claim is not flushed to disk. If the database loses it, the delivery is queued again. Starting its
// workflow twice has no effect.
func (q *Queue) Claim(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Claimed, error) {
	now = app.At(now).Time
	if limits.Batch <= 0 && limits.SlowBatch <= 0 {
		return app.Claimed{More: true}, nil
	}
	var found app.Claimed
	for range claimReads {
		facts, err := q.candidates(ctx, now, limits)
		if err != nil {
			return app.Claimed{}, pg.Classify(err)
		}
		decision := schedule.Decide(now, facts, q.scheduling(limits))
		claims, err := q.claim(ctx, now, limits.Lease, decision.Claims)
		if err != nil {
			return app.Claimed{}, pg.Classify(err)
		}
		q.notifyOrders(claimedEvents(claims)...)
		found = app.Claimed{
			Claims: claims, More: decision.More || len(claims) < len(decision.Claims), Waited: decision.Waited,
		}
		if len(claims) > 0 || len(decision.Claims) == 0 && !facts.Unread {
			break
		}
	}
	return found, nil
}

// claimedEvents returns the events of claims.
func claimedEvents(claims []app.Claim) []changedEvent {
	events := make([]changedEvent, len(claims))
	for i, c := range claims {
		events[i] = changedEvent{c.EventID, c.StoreID, c.EventType}
	}
	return events
}

// claim claims deliveries that are still queued, in the order of the decision.
func (q *Queue) claim(ctx context.Context, now time.Time, lease time.Duration, picked []schedule.Claim,
) ([]app.Claim, error) {
	if len(picked) == 0 {
		return nil, nil
	}
	window := app.PlanWindow(now, q.planWindow)
	past := window.Add(-pastWindows * q.planWindow)
	args := append([]any{window, now.Add(lease)}, append(pickedColumns(now, picked), past, q.leasing())...)
	rows, err := q.relay.System().DB.QueryContext(ctx, claimStatement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	startBefore, windowEnd := app.LastPlanStart(now, q.planWindow), q.windowAfter(window, 1)
	claims := make([]*app.Claim, len(picked))
	for rows.Next() {
		var c app.Claim
		var position int
		if err := rows.Scan(append(claimColumns(&c), &position)...); err != nil {
			return nil, err
		}
		from := picked[position-1]
		c.Quick, c.Healthy = from.Subscription.Quick, from.Subscription.Healthy
		if from.Queue.Window.Limited() {
			c.StartBefore, c.WindowEnd = &startBefore, &windowEnd
		}
		claims[position-1] = &c
	}
	var claimed []app.Claim
	for _, c := range claims {
		if c != nil {
			claimed = append(claimed, *c)
		}
	}
	return claimed, rows.Err()
}

// pickedColumns returns the arguments of the claim statement that describe the picked deliveries and their queues.
func pickedColumns(now time.Time, picked []schedule.Claim) []any {
	var ids []app.DeliveryID
	var classes, started, replays []int64
	var limited, bursts []*string
	var queues []string
	burstIDs := map[int]*string{0: nil}
	counted := map[*schedule.Queue]bool{}
	for _, c := range picked {
		if _, known := burstIDs[c.Burst]; !known {
			id := string(app.NewID[app.BurstID](now))
			burstIDs[c.Burst] = &id
		}
		ids, classes = append(ids, c.ID), append(classes, int64(c.Class))
		bursts = append(bursts, burstIDs[c.Burst])
		var queue *string
		if w := c.Queue.Window; w.Limited() {
			if queue = &c.Queue.ID; !counted[c.Queue] {
				counted[c.Queue] = true
				queues, started, replays = append(queues, *queue), append(started, int64(w.Started)),
					append(replays, int64(w.Replays))
			}
		}
		limited = append(limited, queue)
	}
	return []any{ids, classes, limited, bursts, queues, started, replays}
}

// claimColumns returns the variables of a claim that the statements return.
func claimColumns(c *app.Claim) []any {
	return []any{
		&c.ID, &c.StoreID, &c.EventID, &c.SubscriptionID, &c.EventType, &c.Attempts, &c.Place, &c.Generation, &c.Queue,
		&c.Replay, &c.BurstID,
	}
}

// ClaimAbandoned claims deliveries whose workflow another relay did not start within the lease, or before it died.
// Websites take turns. It claims a burst as a whole. A claim of a limited queue whose window has passed moves to
// another window: it is queued again instead, or, in a burst, counted in the current window, or in the next one if this
// one is full. In the last second of a window it claims nothing, because the deliveries would start in the next window.
// It also repairs lost turns of resources.
func (q *Queue) ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	startBefore := app.LastPlanStart(now, q.planWindow)
	if !now.Before(startBefore) {
		return nil, nil
	}
	if _, err := q.relay.System().DB.ExecContext(ctx, releaseDeadStatement, now, relayLocks); err != nil {
		return nil, pg.Classify(err)
	}
	window := app.PlanWindow(now, q.planWindow)
	windowEnd := q.windowAfter(window, 1)
	rows, err := q.relay.System().DB.QueryContext(ctx, claimAbandonedStatement, now, now.Add(limits.Lease),
		limits.Batch, window, q.leasing(), lapsedReads, limitsByPlan, windowEnd)
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	var claims []app.Claim
	for rows.Next() {
		var c app.Claim
		var limited bool
		if err := rows.Scan(append(claimColumns(&c), &limited, &c.Quick, &c.Healthy)...); err != nil {
			return nil, pg.Classify(err)
		}
		if limited {
			c.StartBefore, c.WindowEnd = &startBefore, &windowEnd
		}
		claims = append(claims, c)
	}
	if err := rows.Err(); err != nil {
		return claims, pg.Classify(err)
	}
	return claims, pg.Classify(q.repairTurns(ctx, now))
}

// MarkStarted records that the workflows of these claims run, so that no relay starts them again. It
// skips a claim that is no longer the newest of its delivery, or whose attempt is recorded.
func (q *Queue) MarkStarted(ctx context.Context, now time.Time, claims []app.Claim) error {
	ids, generations := claimKeys(claims)
	_, err := q.relay.System().DB.ExecContext(ctx, markStartedStatement, now, ids, generations)
	return pg.Classify(err)
}

// Unclaim ends the leases of claims whose workflows could not be started: from retryAt on, any relay
// can claim the deliveries. It skips a claim that is no longer the newest of its delivery.
func (q *Queue) Unclaim(ctx context.Context, retryAt time.Time, claims []app.Claim) error {
	ids, generations := claimKeys(claims)
	_, err := q.relay.System().DB.ExecContext(ctx, unclaimStatement, retryAt, ids, generations)
	return pg.Classify(err)
}

// Requeue queues claims again whose workflows were not started, and moves them to the plan window of their next claim.
// It skips a claim that has been started or is no longer the newest of its delivery.
func (q *Queue) Requeue(ctx context.Context, claims []app.Claim) error {
	ids, generations := claimKeys(claims)
	_, err := q.relay.System().DB.ExecContext(ctx, requeueStatement, ids, generations)
	return pg.Classify(err)
}

func claimKeys(claims []app.Claim) (ids []app.DeliveryID, generations []int32) {
	for _, c := range claims {
		ids, generations = append(ids, c.ID), append(generations, int32(c.Generation))
	}
	return ids, generations
}
