package delivery

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Erase erases data of all stores after its retention, in many small transactions. It calls beat before each
// transaction. It skips locked rows. A repeated call erases the rows that remain.
func (q *Queue) Erase(ctx context.Context, now time.Time, retention app.Retention, beat func()) (app.Erased, error) {
	var erased app.Erased
	if err := q.eraseBodies(ctx, now.Add(-retention.Bodies), beat, &erased.Bodies); err != nil {
		return erased, err
	}
	var items int64 // not counted: they are part of their bulk replays
	if err := q.eraseRows(ctx, eraseReplayItems, now, beat, &items); err != nil {
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
		{erasePlatformKeys, now.Add(-app.IdempotencyRetention), &erased.IdempotencyKeys},
		{eraseIDTokens, now.Add(-app.IDTokenRetention), &erased.IDTokens},
	} {
		if err := q.eraseRows(ctx, step.statement, step.before, beat, step.count); err != nil {
			return erased, err
		}
	}
	beat()
	for _, statement := range []string{
		erasePreviousSecrets, eraseResets, eraseCustomerResets, eraseEmailChanges,
	} {
		if _, err := q.pg.System().DB.ExecContext(ctx, statement, now); err != nil {
			return erased, pg.Classify(err)
		}
	}
	return erased, q.eraseAudit(ctx, now.Add(-retention.Audit), beat, &erased.AuditEntries)
}

// eraseAudit erases the entries of all audit trails that are older than a time. The database refuses a recent time, for
// example if the clock of the worker is wrong; therefore it is the last step of an erasure.
func (q *Queue) eraseAudit(ctx context.Context, before time.Time, beat func(), erased *int64) error {
	for _, statement := range []string{eraseStoreAudit, erasePlatformAudit} {
		if err := q.eraseRows(ctx, statement, before, beat, erased); err != nil {
			return err
		}
	}
	return nil
}

// eraseBodies erases the bodies of events whose deliveries all ended before a time, together with the
// headers and bodies of their attempts. For an event without deliveries the time of the event counts.
func (q *Queue) eraseBodies(ctx context.Context, before time.Time, beat func(), erased *int64) error {
	var at time.Time
	var last app.EventID
	for {
		beat()
		var ids []app.EventID
		var n int64
		to := at
		err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			if ids, to, err = agedEvents(ctx, tx, before, at, last); err != nil || len(ids) == 0 {
				return err
			}
			// A separate statement sees the replays that were committed before the events were locked.
			return tx.Tx.QueryRowContext(ctx, eraseBodiesOf, ids, before).Scan(&n)
		})
		if err != nil {
			return err
		}
		*erased += n
		if len(ids) == 0 {
			return nil
		}
		at, last = to, ids[len(ids)-1]
	}
}

// agedEvents locks events with a body that occurred before a time, oldest first, after an event and its time. It
// returns at least one, and as many as have eraseAttempts attempts together. It also returns the time of the last one.
func agedEvents(
	ctx context.Context, tx bun.Tx, before, at time.Time, after app.EventID,
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

// eraseRows repeats a statement that erases rows after an id, until the statement reaches rows that are too young. It
// adds up the erased rows. The statement returns the last id, whether there may be more rows, and the number of erased
// rows. It commits itself: a suspended process keeps no row locked, such as the head of a store's events, for which the
// dispatch of all stores would wait.
func (q *Queue) eraseRows(ctx context.Context, statement string, before time.Time, beat func(), erased *int64) error {
	last := ""
	for {
		beat()
		var to string
		var more bool
		var n int64
		err := q.pg.System().DB.QueryRowContext(ctx, statement, last, before).Scan(&to, &more, &n)
		if err != nil {
			return pg.Classify(err)
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
		WITH aged AS MATERIALIZED (
			SELECT id, occurred_at FROM outbox e
			WHERE body IS NOT NULL AND occurred_at < $1 AND (occurred_at, id) > ($2, $3) AND %s
			ORDER BY occurred_at, id LIMIT %d FOR UPDATE OF e SKIP LOCKED
		)
		SELECT id, occurred_at FROM (
			SELECT aged.*, sum(attempts) OVER (ORDER BY occurred_at, id) - attempts AS before
			FROM aged CROSS JOIN LATERAL (
				SELECT coalesce(sum(d.attempts), 0) AS attempts FROM deliveries d WHERE d.event_id = aged.id) d
		) e WHERE before < %d ORDER BY occurred_at, id`, dispatchedEvent, eraseBatch, eraseAttempts)

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

	// keepLast keeps the time of a webhook's last attempt if that is deleted.
	keepLast = `, kept AS (
			UPDATE subscription_health h SET last_attempt_at = greatest(h.last_attempt_at, last.at)
			FROM (SELECT subscription_id, max(attempted_at) AS at FROM attempt GROUP BY subscription_id) last
			WHERE h.subscription_id = last.subscription_id AND NOT EXISTS (SELECT FROM attempts a
				WHERE a.subscription_id = last.subscription_id AND a.attempted_at > last.at)
		)`

	eraseDeliveries = erasing("deliveries", "created_at", "ended_at < $2", "", `, attempt AS (
			DELETE FROM attempts a USING deleted WHERE a.delivery_id = deleted.id
			RETURNING a.subscription_id, a.attempted_at
		)`+keepLast)
	eraseEvents = erasing("outbox", "occurred_at", "occurred_at < $2 AND body IS NULL AND "+dispatchedEvent,
		"AND NOT EXISTS (SELECT FROM deliveries d WHERE d.event_id = t.id)", `, attempt AS (
			DELETE FROM attempts a USING deleted WHERE a.event_id = deleted.id AND a.delivery_id IS NULL
			RETURNING a.subscription_id, a.attempted_at
		)`+keepLast+`, place AS (
			DELETE FROM event_log l USING deleted WHERE l.id = deleted.id RETURNING l.store_id, l.position
		), erased AS (
			-- Dispatch locks the rows in the same order.
			INSERT INTO event_heads AS h (store_id, position, previous, taken, erased)
			SELECT store_id, max(position), 0, 0, max(position) FROM place GROUP BY store_id ORDER BY store_id
			ON CONFLICT (store_id) DO UPDATE SET erased = greatest(h.erased, excluded.erased)
		)`)
	// Erases the lists of ended bulk replays. Usually the job of a replay removes its list. This removes those of
	// terminated jobs in batches, so that the deletion of a replay is short. A batch belongs to one bulk replay, whose id
	// is repeated until few rows are left.
	eraseReplayItems = fmt.Sprintf(`
		WITH listed AS MATERIALIZED (
			SELECT replay_id AS id FROM replay_items WHERE replay_id > $1 ORDER BY replay_id LIMIT 1
		), batch AS MATERIALIZED (
			SELECT i.ctid AS place
			FROM listed JOIN replays r ON r.id = listed.id AND r.ended_at < $2 JOIN replay_items i ON i.replay_id = r.id
			LIMIT %[1]d FOR UPDATE OF i SKIP LOCKED
		), deleted AS (
			DELETE FROM replay_items i USING batch WHERE i.ctid = batch.place RETURNING 1
		)
		SELECT CASE n WHEN %[1]d THEN $1 ELSE coalesce((SELECT id FROM listed), '') END, EXISTS (SELECT FROM listed), n
		FROM (SELECT count(*) AS n FROM deleted) rows`, eraseBatch)
	eraseReplays          = erasing("replays", "created_at", "ended_at < $2", "", "")
	eraseSessions         = erasing("sessions", "created_at", "least(ended_at, expires_at) < $2", "", "")
	eraseCustomerSessions = erasing("customer_sessions", "created_at", "least(ended_at, expires_at) < $2", "", "")
	eraseInvitations      = erasing("invitations", "created_at", "expires_at < $2", "", "")
	eraseMails            = erasing("mails", "created_at", "ended_at < $2", "", "")

	// Erases previous secrets whose overlap has ended. Attempts usually erase them earlier, see forgetSecrets.
	erasePreviousSecrets = `UPDATE subscriptions SET previous_secret = NULL, previous_secret_until = NULL
		WHERE previous_secret_until <= $1`

	// Erases expired links; an account has at most five.
	eraseResets         = `DELETE FROM password_resets WHERE expires_at <= $1`
	eraseCustomerResets = `DELETE FROM customer_password_resets WHERE expires_at <= $1`
	eraseEmailChanges   = `DELETE FROM customer_email_changes WHERE expires_at <= $1`

	eraseIdempotencyKeys = erasingOldest("idempotency_keys", "created_at")
	erasePlatformKeys    = erasingOldest("platform_idempotency_keys", "created_at")
	eraseIDTokens        = erasingOldest("used_id_tokens", "expires_at")

	eraseStoreAudit    = erasingAudit("audit")
	erasePlatformAudit = erasingAudit("platform_audit")
)

// erasingAudit returns the statement that erases entries of an audit trail. The trail is append-only: only the function
// erase_audit can erase entries.
func erasingAudit(trail string) string {
	return fmt.Sprintf(`SELECT last, more, erased FROM erase_audit('%s', $1, $2, %d)`, trail, eraseBatch)
}

// erasingOldest returns the statement that erases the rows of a table without an id whose time is before the given
// time.
func erasingOldest(table, at string) string {
	return fmt.Sprintf(`
		WITH batch AS MATERIALIZED (
			SELECT ctid AS place FROM %[1]s WHERE $1::text = '' AND %[2]s < $2
			ORDER BY %[2]s LIMIT %[3]d FOR UPDATE SKIP LOCKED
		), deleted AS (
			DELETE FROM %[1]s t USING batch WHERE t.ctid = batch.place RETURNING 1
		)
		SELECT '', count(*) = %[3]d, count(*) FROM deleted`, table, at, eraseBatch)
}

// erasing returns the statement that erases rows of a table. Its parts are:
//
//   - created: the expression of the time at which a row e was created
//   - expired: the condition on a row e that is erased
//   - further: a condition on a row t that may use other tables ("AND …")
//   - with: common table expressions (", name AS …") that may use the ids of the rows deleted
//
// The statement reads rows by id, which is the order of creation. It stops at the first batch with a row that was
// created after the given time. Few older rows remain.
func erasing(table, created, expired, further, with string) string {
	return fmt.Sprintf(`
		WITH batch AS MATERIALIZED (
			SELECT id, ctid AS place, %[2]s AS created, coalesce(%[3]s, false) AS expired
			FROM %[1]s e WHERE id > $1 ORDER BY id LIMIT %[6]d FOR UPDATE OF e SKIP LOCKED
		), deleted AS (
			DELETE FROM %[1]s t USING batch WHERE t.ctid = batch.place AND batch.expired %[4]s RETURNING t.id
		)%[5]s
		SELECT coalesce(max(id), ''), count(*) = %[6]d AND max(created) < $2, (SELECT count(*) FROM deleted)
		FROM batch`,
		table, created, expired, further, with, eraseBatch)
}
