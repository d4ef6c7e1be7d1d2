package delivery

import (
	"context"
	_ "embed" // for the statement
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// unfinishedWork is a query for work of a kind whose job may be lost. Its columns and arguments are those of
// queries/enqueue_lost.sql. The condition on the position must match an index.
type unfinishedWork struct {
	kind  app.JobKind
	query string
}

// unfinished lists the work whose jobs are enqueued again. Each search for one delivery has a status and LIMIT 1, so
// that PostgreSQL reads one entry of an index instead of all deliveries of the subscription.
var unfinished = []unfinishedWork{
	{app.JobAcceptance, `SELECT store_id, order_id AS subject, $3::text AS kind, '' AS queue, next_at AS at,
			true AS lost
		FROM acceptances WHERE next_at <= $2 AND (next_at, order_id) > ($6, $7) ORDER BY next_at, order_id LIMIT $8`},
	{app.JobTeardown, `SELECT s.store_id, s.id AS subject, $3::text AS kind, '' AS queue, s.deleted_at AS at,
			coalesce(
				(SELECT true FROM deliveries d WHERE d.subscription_id = s.id AND d.store_id = s.store_id
					AND d.status = 'queued' LIMIT 1),
				(SELECT true FROM deliveries d WHERE d.subscription_id = s.id AND d.store_id = s.store_id
					AND d.status = 'retrying' LIMIT 1),
				(SELECT true FROM deliveries d WHERE d.subscription_id = s.id AND d.store_id = s.store_id
					AND d.status = 'dead_letter' LIMIT 1)) AS lost
		FROM subscriptions s WHERE s.deleted_at <= $2 AND (s.deleted_at, s.id) > ($6, $7)
		ORDER BY s.deleted_at, s.id LIMIT $8`},
	// Also a delivery that was dispatched while the webhook was switched off.
	{app.JobDeactivation, `SELECT s.store_id, s.id AS subject, $3::text AS kind, '' AS queue, s.updated_at AS at,
			(SELECT true FROM deliveries d WHERE d.subscription_id = s.id AND d.store_id = s.store_id
				AND d.status = 'queued' LIMIT 1) AS lost
		FROM subscriptions s WHERE NOT s.is_active AND s.deleted_at IS NULL AND s.updated_at <= $2
			AND (s.updated_at, s.id) > ($6, $7)
		ORDER BY s.updated_at, s.id LIMIT $8`},
	{app.JobReordering, `SELECT store_id, id AS subject, $3::text AS kind, '' AS queue, updated_at AS at, true AS lost
		FROM subscriptions WHERE reordering AND deleted_at IS NULL AND updated_at <= $2 AND (updated_at, id) > ($6, $7)
		ORDER BY updated_at, id LIMIT $8`},
	{app.JobMail, `SELECT store_id, id AS subject, kind, queue, lease_until AS at, lease_until <= $2 AS lost
		FROM mails WHERE status = 'queued' AND (queue, lease_until, id) > ($5, $6, $7)
		ORDER BY queue, lease_until, id LIMIT $8`},
	{app.JobReplay, `SELECT store_id, id AS subject, $3::text AS kind, '' AS queue, created_at AS at, true AS lost
		FROM replays WHERE status = 'running' AND created_at <= $2 AND (created_at, id) > ($6, $7)
		ORDER BY created_at, id LIMIT $8`},
	{app.JobSoldOut, `SELECT store_id, id AS subject, $3::text AS kind, '' AS queue, sold_out_until AS at, true AS lost
		FROM products WHERE sold_out_until <= $2 AND deleted_at IS NULL AND (sold_out_until, id) > ($6, $7)
		ORDER BY sold_out_until, id LIMIT $8`},
	// The erased person is a customer, or the guest of a reservation. The recursive query skips in an index from one to
	// the next.
	{app.JobErasure, `WITH RECURSIVE erasing (id, n) AS (
			SELECT $7::text, 0::bigint
			UNION ALL
			SELECT (SELECT o.erasing FROM outbox o WHERE o.erasing > e.id ORDER BY o.erasing LIMIT 1), e.n + 1
			FROM erasing e WHERE e.id IS NOT NULL AND e.n < $8
		)
		SELECT p.store_id, e.id AS subject, $3::text AS kind, '' AS queue, $6::timestamptz AS at,
			p.erased_at <= $2
				AND (SELECT true FROM outbox o WHERE o.erasing = e.id AND o.body IS NOT NULL LIMIT 1) AS lost
		FROM erasing e LEFT JOIN LATERAL (
			SELECT store_id, erased_at FROM customers WHERE id = e.id
			UNION ALL
			SELECT store_id, erased_at FROM reservations WHERE id = e.id
			LIMIT 1) p ON true
		WHERE e.n > 0 AND e.id IS NOT NULL`},
}

//go:embed queries/enqueue_lost.sql
var enqueueLostStatement string

// statement returns the statement that enqueues the jobs of a batch.
func (w unfinishedWork) statement() string { return fmt.Sprintf(enqueueLostStatement, w.query) }

// urgentKinds returns the kinds of urgent jobs and of urgent mails.
func urgentKinds() (kinds []string) {
	for _, kind := range app.UrgentJobs {
		kinds = append(kinds, string(kind))
	}
	for _, kind := range app.UrgentMails {
		kinds = append(kinds, string(kind))
	}
	return kinds
}

// lostPosition is the position of the last row of a batch.
type lostPosition struct {
	queue   string
	at      time.Time
	subject string
}

// lostPositions are the positions at which the next round continues, by kind.
type lostPositions struct {
	mu sync.Mutex
	of map[app.JobKind]lostPosition // without an entry: at the start
}

// EnqueueLostJobs enqueues jobs again whose workflows may be lost, and returns their number:
//
//   - jobs that are unfinished for longer than after, including deactivations with queued deliveries and reorderings
//   - mails that were not attempted for Policy.MailOverdue
//   - products whose soldOutUntil, and orders whose next deadline of acceptance, passed more than after ago
//
// It reads unfinished work in batches. If there are more than Policy.LostBatches of a kind, the next call of this
// process continues after them. A job whose workflow is open has no effect. Failing subscriptions get a new watchdog in
// [Queue.RecordAttempt].
func (q *Queue) EnqueueLostJobs(ctx context.Context, now time.Time, after time.Duration) (total int, err error) {
	q.lost.mu.Lock()
	defer q.lost.mu.Unlock()
	for _, work := range unfinished {
		before := now.Add(-after)
		if work.kind == app.JobMail {
			before = now.Add(-q.policy.MailOverdue)
		}
		n, failed := q.enqueueLost(ctx, now, work, before)
		total, err = total+n, errors.Join(err, failed)
	}
	return total, err
}

// enqueueLost enqueues the lost jobs of a kind from its position on. The caller holds the lock of the positions.
func (q *Queue) enqueueLost(
	ctx context.Context, now time.Time, work unfinishedWork, before time.Time,
) (total int, err error) {
	statement, urgent := work.statement(), urgentKinds()
	for range q.policy.LostBatches {
		at := q.lost.of[work.kind]
		var n, size int
		err := q.pg.System().DB.QueryRowContext(ctx, statement, now, before, work.kind, urgent, at.queue, at.at,
			at.subject, q.policy.LostBatch).Scan(&n, &size, &at.queue, &at.at, &at.subject)
		if err != nil {
			return total, pg.Classify(err)
		}
		total += n
		if size < q.policy.LostBatch {
			delete(q.lost.of, work.kind)
			break
		}
		q.lost.of[work.kind] = at
	}
	return total, nil
}
