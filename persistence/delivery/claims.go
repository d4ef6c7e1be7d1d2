package delivery

import (
	"context"
	"database/sql"
	_ "embed"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
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
)

// claimReads is the maximum number of claim statements that [Queue.Claim] runs while they claim
// nothing and parts of the queues are unread.
const claimReads = 4

// Claim makes queued deliveries pending, within the limits. Websites take turns, and so do the
// subscriptions of a website. It reads a bounded part of the queues, independent of their size.
//
// Claim is the only place that enforces plans (docs/behaviour.md#plan-rate). If no queue with a limited plan contains
// deliveries, one statement claims. Otherwise a transaction locks the limited queues first and counts its claims; it
// skips a queue that another relay has locked, and in the last second of a window all limited queues.
//
// A claim is not flushed to disk. If the database loses it, the delivery is queued again. Starting its
// workflow twice has no effect.
func (q *Queue) Claim(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Claimed, error) {
	now = app.At(now).Time
	if limits.Batch <= 0 && limits.SlowBatch <= 0 {
		return app.Claimed{More: true}, nil
	}
	var found claimed
	for range claimReads {
		var err error
		found, err = q.claim(ctx, q.relay.System().DB, now, limits, nil)
		if err == nil && len(found.limited) > 0 {
			found, err = q.claimLimited(ctx, now, limits, found.limited)
		}
		if err != nil {
			return app.Claimed{}, pg.Classify(err)
		}
		q.notifyOrders(claimedEvents(found.Claims)...)
		if len(found.Claims) > 0 || !found.unread {
			break
		}
	}
	return found.Claimed, nil
}

// claimedEvents returns the events of claims.
func claimedEvents(claims []app.Claim) []changedEvent {
	events := make([]changedEvent, len(claims))
	for i, c := range claims {
		events[i] = changedEvent{c.EventID, c.StoreID, c.EventType}
	}
	return events
}

// claimLimited claims from all queues when some queues are limited by a plan and have starts left.
func (q *Queue) claimLimited(ctx context.Context, now time.Time, limits app.ClaimLimits,
	queues []string,
) (claimed, error) {
	startBefore := app.LastPlanStart(now, q.planWindow)
	if !now.Before(startBefore) {
		queues = nil
	}
	var found claimed
	err := q.relay.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		locked, err := lockQueues(ctx, tx, queues)
		if err != nil {
			return err
		}
		if found, err = q.claim(ctx, tx.Tx, now, limits, locked); err != nil {
			return err
		}
		var counted []app.Claim
		for i, c := range found.Claims {
			if slices.Contains(locked, c.Queue) {
				found.Claims[i].StartBefore = &startBefore
				counted = append(counted, c)
			}
		}
		return q.countStarts(ctx, tx, app.PlanWindow(now, q.planWindow), counted)
	})
	return found, err
}

// claimed is the result of one claim statement.
type claimed struct {
	app.Claimed
	limited []string // limited queues that contain deliveries and have starts left
	unread  bool     // some queues or subscriptions were not read; the next claim reads them
}

// claim runs the claim statement. If locked is nil, it claims nothing while a limited queue has starts
// left.
func (q *Queue) claim(ctx context.Context, db pg.Queryer, now time.Time, limits app.ClaimLimits,
	locked []string,
) (claimed, error) {
	p := q.policy
	turn := q.positions.current()
	rows, err := db.QueryContext(ctx, claimStatement, now, now.Add(limits.Lease), turn.queue, p.ClaimQueues,
		p.ClaimSubscriptions, locked, app.PlanWindow(now, q.planWindow), planNames, planLimits, limits.Batch,
		burstBatch(limits), limits.SlowBatch, limits.Unproven, limits.Quick, limits.Slow, p.Recent, p.SlowPace,
		limits.Burst, limits.BurstAfter, turn.queues, turn.subscriptions, p.VisitQueues, paceInterval,
		limits.BurstLeast, max(limits.SlowBatch, min(failingBursts, limits.SlowBatch)*limits.Burst), replayShare,
		kindShare, p.Prompt.Milliseconds(), p.PromptGrowth)
	if err != nil {
		return claimed{}, err
	}
	defer rows.Close()
	var found claimed
	if rows.Next() { // the first row describes the queues
		if found, turn, err = scanQueues(rows); err != nil {
			return claimed{}, err
		}
	}
	if found.Claims, err = scanClaims(rows, 6); err != nil {
		return claimed{}, err
	}
	if len(found.limited) == 0 {
		q.positions.advance(turn)
	}
	return found, nil
}

// failingBursts limits the bursts of failing subscriptions in one claim.
const failingBursts = 2

// burstBatch returns the maximum number of deliveries that one claim assigns to bursts.
func burstBatch(limits app.ClaimLimits) int {
	if limits.Burst < 2 {
		return 0
	}
	return max(limits.BurstBatch, limits.Batch)
}

// scanQueues reads the first row of the claim statement.
func scanQueues(rows *sql.Rows) (found claimed, next claimPosition, err error) {
	var waited int64
	var last sql.NullString
	none := make([]any, claimColumns)
	for i := range none {
		none[i] = new(any)
	}
	err = rows.Scan(append([]any{&waited, &found.More, pgdialect.Array(&found.limited), &last,
		pgdialect.Array(&next.queues), pgdialect.Array(&next.subscriptions)}, none...)...)
	found.Waited, next.queue = time.Duration(waited)*time.Millisecond, last.String
	found.unread = last.Valid || len(next.queues) > 0
	return found, next, err
}

// claimColumns is the number of columns that scanClaims reads.
const claimColumns = 13

// scanClaims reads the claims that a statement returns after skipping the first columns of each row.
func scanClaims(rows *sql.Rows, skip int) ([]app.Claim, error) {
	var claims []app.Claim
	for rows.Next() {
		var c app.Claim
		var burst sql.NullString
		columns := make([]any, skip, skip+claimColumns)
		for i := range columns {
			columns[i] = new(any)
		}
		err := rows.Scan(append(columns, &c.ID, &c.StoreID, &c.EventID, &c.SubscriptionID, &c.EventType, &c.Attempts,
			&c.Place, &c.Generation, &c.Queue, &c.Replay, &burst, &c.Quick, &c.Healthy)...)
		if err != nil {
			return nil, err
		}
		c.BurstID = app.BurstID(burst.String)
		claims = append(claims, c)
	}
	return claims, rows.Err()
}

// ClaimAbandoned claims deliveries whose workflow another relay did not start within the lease. It
// claims a burst as a whole. A claim of a limited queue whose window has passed is queued again
// instead; in a burst, it is counted in the current window. In the last second of a window it claims nothing, because
// the deliveries would start in the next window.
func (q *Queue) ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	if !now.Before(app.LastPlanStart(now, q.planWindow)) {
		return nil, nil
	}
	rows, err := q.relay.System().DB.QueryContext(ctx, claimAbandonedStatement, now, now.Add(limits.Lease),
		limits.Batch, app.PlanWindow(now, q.planWindow))
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	claims, err := scanClaims(rows, 0)
	return claims, pg.Classify(err)
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
