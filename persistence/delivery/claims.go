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
)

// claimReads is how many parts of the queues a claim reads while it finds nothing that it may claim.
const claimReads = 4

// Claim makes queued deliveries pending, at most as many as the limits allow. Websites take turns, then their webhooks.
// It reads a bounded part of the queues, however much is queued.
//
// Claim is the only place that enforces plans (contract §4, Plan rate). If no queue with a limited plan waits, one
// statement claims. Otherwise a transaction locks the limited queues first and counts its claims; a queue that another
// relay has locked is left to that relay.
//
// A claim is not flushed to disk: if the server loses it, the delivery is queued again, and starting its workflow twice
// has no effect.
func (q *Queue) Claim(ctx context.Context, now time.Time, limits app.ClaimLimits) (app.Claimed, error) {
	now = app.At(now).Time
	if limits.Batch <= 0 && limits.SlowBatch <= 0 {
		return app.Claimed{More: true}, nil
	}
	var found claimed
	for range claimReads {
		var err error
		found, err = q.claim(ctx, q.pg.System().DB, now, limits, nil)
		if err == nil && len(found.limited) > 0 {
			found, err = q.claimLimited(ctx, now, limits, found.limited)
		}
		if err != nil {
			return app.Claimed{}, pg.Classify(err)
		}
		if len(found.Claims) > 0 || !found.unread {
			break
		}
	}
	return found.Claimed, nil
}

// claimLimited claims from all queues, if some of them are limited by a plan and have starts left.
func (q *Queue) claimLimited(ctx context.Context, now time.Time, limits app.ClaimLimits,
	queues []string,
) (claimed, error) {
	var found claimed
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		locked, err := lockQueues(ctx, tx, queues)
		if err != nil {
			return err
		}
		if found, err = q.claim(ctx, tx.Tx, now, limits, locked); err != nil {
			return err
		}
		counted := slices.DeleteFunc(slices.Clone(found.Claims), func(c app.Claim) bool {
			return !slices.Contains(locked, c.Queue)
		})
		return q.countStarts(ctx, tx, app.PlanWindow(now, q.planWindow), counted)
	})
	return found, err
}

// claimed is the result of one claim statement.
type claimed struct {
	app.Claimed
	limited []string // limited queues in which a delivery waits, and whose plan lets one start
	unread  bool     // queues or subscriptions were not read that the next claim reads
}

// claim runs the statement. Without locked queues (nil) it claims nothing if a limited queue has starts left.
func (q *Queue) claim(ctx context.Context, db pg.Queryer, now time.Time, limits app.ClaimLimits,
	locked []string,
) (claimed, error) {
	p := q.policy
	turn := q.turns.current()
	rows, err := db.QueryContext(ctx, claimStatement, now, now.Add(limits.Lease), turn.queue, p.ClaimQueues,
		p.ClaimSubscriptions, locked, app.PlanWindow(now, q.planWindow), planNames, planLimits, limits.Batch,
		burstBatch(limits), limits.SlowBatch, limits.Unproven, limits.Quick, limits.Slow, p.Recent, p.SlowPace,
		limits.Burst, limits.BurstAfter, turn.queues, turn.subscriptions, p.VisitQueues)
	if err != nil {
		return claimed{}, err
	}
	defer rows.Close()
	var found claimed
	if rows.Next() { // the first row is about the queues
		if found, turn, err = scanQueues(rows); err != nil {
			return claimed{}, err
		}
	}
	if found.Claims, err = scanClaims(rows, 6); err != nil {
		return claimed{}, err
	}
	if len(found.limited) == 0 {
		q.turns.advance(turn)
	}
	return found, nil
}

// burstBatch returns how many deliveries a claim may make as bursts.
func burstBatch(limits app.ClaimLimits) int {
	if limits.Burst < 2 {
		return 0
	}
	return max(limits.BurstBatch, limits.Batch)
}

// scanQueues reads the first row of the claim statement.
func scanQueues(rows *sql.Rows) (found claimed, next turn, err error) {
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

// scanClaims reads the claims that a statement returns behind so many other columns.
func scanClaims(rows *sql.Rows, others int) ([]app.Claim, error) {
	var claims []app.Claim
	for rows.Next() {
		var c app.Claim
		var burst sql.NullString
		columns := make([]any, others, others+claimColumns)
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

// ClaimAbandoned takes over deliveries that another relay claimed and did not start within its lease. The first attempt
// of a burst is taken over with the rest of its burst. A claim of a limited queue whose window has passed is queued
// again.
func (q *Queue) ClaimAbandoned(ctx context.Context, now time.Time, limits app.ClaimLimits) ([]app.Claim, error) {
	rows, err := q.pg.System().DB.QueryContext(ctx, claimAbandonedStatement, now, now.Add(limits.Lease),
		limits.Batch, app.PlanWindow(now, q.planWindow))
	if err != nil {
		return nil, pg.Classify(err)
	}
	defer rows.Close()
	claims, err := scanClaims(rows, 0)
	return claims, pg.Classify(err)
}

// MarkStarted notes that the workflows of these claims run, so that no relay starts them again. A claim that is no
// longer the newest of its delivery, or whose attempt is recorded, needs no mark.
func (q *Queue) MarkStarted(ctx context.Context, now time.Time, claims []app.Claim) error {
	ids, generations := claimKeys(claims)
	_, err := q.pg.System().DB.ExecContext(ctx, markStartedStatement, now, ids, generations)
	return pg.Classify(err)
}

// Unclaim ends the leases of claims that could not be started: any relay can take them over from retryAt on. A claim
// that is no longer the newest of its delivery stays as it is.
func (q *Queue) Unclaim(ctx context.Context, retryAt time.Time, claims []app.Claim) error {
	ids, generations := claimKeys(claims)
	_, err := q.pg.System().DB.ExecContext(ctx, unclaimStatement, retryAt, ids, generations)
	return pg.Classify(err)
}

func claimKeys(claims []app.Claim) (ids []app.DeliveryID, generations []int32) {
	for _, c := range claims {
		ids, generations = append(ids, c.ID), append(generations, int32(c.Generation))
	}
	return ids, generations
}
