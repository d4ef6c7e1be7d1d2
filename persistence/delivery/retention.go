package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Erase removes the data of all stores that is older than its retention, in many small transactions.
// It calls beat before each. Rows that are locked stay until the next time. A repeated call resumes
// where the last one stopped.
func (q *Queue) Erase(ctx context.Context, now time.Time, retention app.Retention, beat func()) (app.Erased, error) {
	var erased app.Erased
	if err := q.eraseBodies(ctx, now.Add(-retention.Bodies), beat, &erased.Bodies); err != nil {
		return erased, err
	}
	log := now.Add(-retention.Log)
	for _, step := range []struct {
		statement string
		before    time.Time
		count     *int64
	}{
		{eraseDeliveries, log, &erased.Deliveries},
		{eraseEvents, log, &erased.Events},
		{eraseReplays, log, &erased.Replays},
		{eraseSessions, log, &erased.Sessions},
		{eraseCustomerSessions, log, &erased.Sessions},
		{eraseInvitations, log, &erased.Invitations},
		{eraseMails, log, &erased.Mails},
		{eraseIdempotencyKeys, now.Add(-app.IdempotencyRetention), &erased.IdempotencyKeys},
	} {
		if err := q.eraseRows(ctx, step.statement, step.before, beat, step.count); err != nil {
			return erased, err
		}
	}
	beat()
	_, err := q.pg.System().DB.ExecContext(ctx, erasePreviousSecrets, now)
	return erased, pg.Classify(err)
}

// eraseBodies erases the bodies of events whose deliveries all ended before a time, with the headers
// and bodies of their attempts. The age of an event without deliveries counts from the event.
func (q *Queue) eraseBodies(ctx context.Context, before time.Time, beat func(), erased *int64) error {
	var at time.Time
	var last app.EventID
	for {
		beat()
		var ids []app.EventID
		var n int64
		to := at
		err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) (err error) {
			if ids, to, err = agedEvents(ctx, tx, before, at, last); err != nil || len(ids) == 0 {
				return err
			}
			// A second statement sees each replay that was committed before the events were locked.
			return tx.Tx.QueryRowContext(ctx, eraseBodiesOf, ids, before).Scan(&n)
		})
		if err != nil {
			return err
		}
		*erased += n
		if len(ids) < eraseBatch {
			return nil
		}
		at, last = to, ids[len(ids)-1]
	}
}

// agedEvents locks events with a body that happened before a time, the oldest first, from after the
// given event. It also returns the time of the last of them.
func agedEvents(ctx context.Context, tx bun.Tx, before, at time.Time,
	after app.EventID,
) (ids []app.EventID, last time.Time, err error) {
	rows, err := tx.Tx.QueryContext(ctx, selectAgedEvents, before, at, after)
	if err != nil {
		return nil, last, err
	}
	defer rows.Close()
	for rows.Next() {
		var id app.EventID
		if err := rows.Scan(&id, &last); err != nil {
			return nil, last, err
		}
		ids = append(ids, id)
	}
	return ids, last, rows.Err()
}

// eraseRows repeats a statement that looks at the rows after an id, until it reaches rows that are too
// young. It adds up the erased rows. The statement returns the last id, whether there may be more
// rows, and the number of erased rows.
func (q *Queue) eraseRows(ctx context.Context, statement string, before time.Time, beat func(), erased *int64) error {
	last := ""
	for {
		beat()
		var to string
		var more bool
		var n int64
		err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
			return tx.Tx.QueryRowContext(ctx, statement, last, before).Scan(&to, &more, &n)
		})
		if err != nil {
			return err
		}
		*erased += n
		if !more {
			return nil
		}
		last = to
	}
}

var (
	selectAgedEvents = fmt.Sprintf(`
		SELECT id, occurred_at FROM outbox
		WHERE body IS NOT NULL AND dispatched_at IS NOT NULL AND occurred_at < $1 AND (occurred_at, id) > ($2, $3)
		ORDER BY occurred_at, id LIMIT %d FOR UPDATE SKIP LOCKED`, eraseBatch)

	eraseBodiesOf = `
		WITH done AS MATERIALIZED (
			SELECT aged.id FROM unnest($1::text[]) AS aged (id)
			WHERE NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = aged.id
				AND (d.ended_at IS NULL OR d.ended_at >= $2))
		), body AS (
			UPDATE outbox e SET body = NULL FROM done WHERE e.id = done.id RETURNING 1
		), attempt AS (
			UPDATE attempts a SET request_headers = NULL, response_headers = NULL, response_body = NULL
			FROM done JOIN deliveries d ON d.event_id = done.id WHERE a.delivery_id = d.id
		), test AS (
			UPDATE attempts a SET request_headers = NULL, response_headers = NULL, response_body = NULL
			FROM done WHERE a.event_id = done.id AND a.delivery_id IS NULL
		)
		SELECT count(*) FROM body`

	eraseDeliveries = erasing("deliveries", "created_at", "ended_at < $2", "", `, attempt AS (
			DELETE FROM attempts a USING gone WHERE a.delivery_id = gone.id
		)`)
	eraseEvents = erasing("outbox", "occurred_at", "occurred_at < $2 AND body IS NULL AND dispatched_at IS NOT NULL",
		"AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = t.id)", `, test AS (
			DELETE FROM attempts a USING gone WHERE a.event_id = gone.id AND a.delivery_id IS NULL
		)`)
	eraseReplays          = erasing("replays", "created_at", "ended_at < $2", "", "")
	eraseSessions         = erasing("sessions", "created_at", "least(ended_at, expires_at) < $2", "", "")
	eraseCustomerSessions = erasing("customer_sessions", "created_at", "least(ended_at, expires_at) < $2", "", "")
	eraseInvitations      = erasing("invitations", "created_at", "expires_at < $2", "", "")
	eraseMails            = erasing("mails", "created_at", "ended_at < $2", "", "")

	// The overlap of the rotation is over. Deliveries of a busy webhook erase its secret before.
	erasePreviousSecrets = `UPDATE subscriptions SET previous_secret = NULL, previous_secret_until = NULL
		WHERE previous_secret_until <= $1`

	eraseIdempotencyKeys = fmt.Sprintf(`
		WITH seen AS MATERIALIZED (
			SELECT ctid AS place FROM idempotency_keys WHERE $1::text = '' AND created_at < $2
			ORDER BY created_at LIMIT %[1]d FOR UPDATE SKIP LOCKED
		), gone AS (
			DELETE FROM idempotency_keys k USING seen WHERE k.ctid = seen.place RETURNING 1
		)
		SELECT '', count(*) = %[1]d, count(*) FROM gone`, eraseBatch)
)

// erasing returns the statement that erases the rows of a table for which over holds. unless is a
// further condition, which may use other tables. The statement visits rows in the order of their
// ids, which is the order of their creation. It stops at the first batch that reaches rows created
// after the given time: old rows that must stay are few.
func erasing(table, born, over, unless, with string) string {
	return fmt.Sprintf(`
		WITH seen AS MATERIALIZED (
			SELECT id, ctid AS place, %[2]s AS born, coalesce(%[3]s, false) AS over
			FROM %[1]s WHERE id > $1 ORDER BY id LIMIT %[6]d FOR UPDATE SKIP LOCKED
		), gone AS (
			DELETE FROM %[1]s t USING seen WHERE t.ctid = seen.place AND seen.over %[4]s RETURNING t.id
		)%[5]s
		SELECT coalesce(max(id), ''), count(*) = %[6]d AND max(born) < $2, (SELECT count(*) FROM gone) FROM seen`,
		table, born, over, unless, with, eraseBatch)
}
