package ordering

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// heldOrders are the periods in which customer $2 of store $1 had orders: from version first to below last, and the
// numbers of the events of the changes that began and ended them. Times cannot separate periods, because the clocks of
// servers differ. The time before the first customer is part of the period of that one.
const heldOrders = `(SELECT p.order_id, coalesce(b.version, 0) AS first, coalesce(b.event_number, 0) AS first_event,
		p.last, p.last_event
	FROM (SELECT id AS order_id, 9223372036854775807 AS last, 9223372036854775807 AS last_event FROM orders
			WHERE store_id = $1 AND customer_id = $2
		UNION ALL SELECT order_id, version, event_number FROM order_history
			WHERE store_id = $1 AND former_customer = $2) p
		LEFT JOIN LATERAL (SELECT version, event_number FROM order_history h
			WHERE h.store_id = $1 AND h.order_id = p.order_id AND h.version < p.last AND h.former_customer IS NOT NULL
			ORDER BY h.version DESC LIMIT 1) b ON true)`

// erasures replace or delete the personal data of customer $2 of store $1 (docs/behaviour.md#erasure). Amounts, counts
// and the ids of payment providers stay, because accounting needs them. $3 is the time.
var erasures = []string{
	`DELETE FROM addresses WHERE store_id = $1 AND customer_id = $2 AND $3::timestamptz IS NOT NULL`,
	`DELETE FROM customer_identities WHERE store_id = $1 AND customer_id = $2 AND $3::timestamptz IS NOT NULL`,
	`DELETE FROM customer_sessions WHERE store_id = $1 AND customer_id = $2 AND $3::timestamptz IS NOT NULL`,
	// A worker may hold the lease of the mail. Without the link, the mail is not sent. The subject of the notice to a
	// former email is the customer.
	`UPDATE mails SET status = 'obsolete', ended_at = $3, secret = NULL
		WHERE store_id = $1 AND ended_at IS NULL AND subject IN (
			SELECT id FROM customer_password_resets WHERE store_id = $1 AND customer_id = $2
			UNION ALL SELECT id FROM customer_email_changes WHERE store_id = $1 AND customer_id = $2
			UNION ALL SELECT $2)`,
	`DELETE FROM customer_email_changes WHERE store_id = $1 AND customer_id = $2 AND $3::timestamptz IS NOT NULL`,
	`DELETE FROM customer_password_resets WHERE store_id = $1 AND customer_id = $2 AND $3::timestamptz IS NOT NULL`,
	// Keys are kept for a day.
	`DELETE FROM idempotency_keys WHERE store_id = $1 AND $3::timestamptz IS NOT NULL AND subject IN (
		SELECT $2::text
		UNION ALL SELECT order_id FROM ` + heldOrders + ` o
		UNION ALL SELECT id FROM reservations WHERE store_id = $1 AND customer_id = $2
		UNION ALL SELECT r.payment_id FROM refunds r JOIN ` + heldOrders + ` o USING (order_id)
			WHERE r.store_id = $1)`,
	`UPDATE refunds r SET reason = '' FROM ` + heldOrders + ` o
		WHERE r.store_id = $1 AND r.order_id = o.order_id AND r.order_version >= o.first AND r.order_version < o.last
			AND $3::timestamptz IS NOT NULL`,
	`UPDATE payments p SET card_last4 = '' FROM ` + heldOrders + ` o
		WHERE p.store_id = $1 AND p.order_id = o.order_id AND p.order_version >= o.first AND p.order_version < o.last
			AND $3::timestamptz IS NOT NULL`,
	`UPDATE order_history h SET reason = '' FROM ` + heldOrders + ` o
		WHERE h.store_id = $1 AND h.order_id = o.order_id AND h.version BETWEEN o.first AND o.last AND h.reason <> ''
			AND $3::timestamptz IS NOT NULL`,
	// Of the change that begins a period, only the later notes are the customer's; of the one that ends it, only the
	// earlier ones.
	erasedChanges("before = NULL, "+withoutNotes("before"), "h.version > o.first AND h.version <= o.last"),
	erasedChanges(withoutNotes("after"), "h.version >= o.first AND h.version < o.last"),
	`UPDATE order_items i SET note = '' FROM orders o
		WHERE i.store_id = $1 AND o.store_id = $1 AND o.id = i.order_id AND o.customer_id = $2
			AND $3::timestamptz IS NOT NULL`,
	`UPDATE orders SET customer_name = '', customer_email = '', customer_phone = '', note = '', table_label = '',
			metadata = '{}', cancellation_reason = '',
			delivery_address = CASE WHEN delivery_address IS NOT NULL THEN jsonb_build_object(
				'line1', 'erased', 'city', 'erased', 'country', delivery_address -> 'country') END,
			version = version + 1, updated_at = greatest(updated_at, $3)
		WHERE store_id = $1 AND customer_id = $2`,
	`UPDATE reservations SET ` + erasedReservation + ` WHERE store_id = $1 AND customer_id = $2`,
	`UPDATE customers SET email = '', first_name = '', last_name = '', phone = '', password_hash = '',
			email_proven = false, external_id = '', metadata = '{}', erased_at = $3
		WHERE store_id = $1 AND id = $2`,
	// Last, because the events of transactions that changed the rows above are then committed.
	`UPDATE outbox SET erasing = $2 WHERE store_id = $1 AND body IS NOT NULL AND $3::timestamptz IS NOT NULL
		AND subject IN (SELECT $2 UNION ALL SELECT id FROM reservations WHERE store_id = $1 AND customer_id = $2)`,
	// The event of the change that ends a period can show the notes of before.
	`UPDATE outbox e SET erasing = $2 FROM ` + heldOrders + ` o
		WHERE e.store_id = $1 AND e.subject = o.order_id AND e.number >= o.first_event
			AND (e.number < o.last_event OR e.number = o.last_event
				AND jsonb_path_exists(e.body::jsonb, '$.data.itemChanges[*].before.note'))
			AND e.body IS NOT NULL AND e.erasing IS NULL AND $3::timestamptz IS NOT NULL`,
}

// erasedChanges is an erasure of the changes of a period.
func erasedChanges(set, inPeriod string) string {
	return `UPDATE order_history h SET ` + set + ` FROM ` + heldOrders + ` o
		WHERE h.store_id = $1 AND h.order_id = o.order_id AND h.item_changes IS NOT NULL AND ` + inPeriod + `
			AND $3::timestamptz IS NOT NULL`
}

// withoutNotes removes the notes of items before or after a change.
func withoutNotes(side string) string {
	return `item_changes = (SELECT coalesce(jsonb_agg(c #- '{` + side + `,note}' ORDER BY n), '[]')
			FROM jsonb_array_elements(h.item_changes) WITH ORDINALITY AS x (c, n))`
}

// EraseCustomer replaces the personal data of a customer in all tables, and enqueues the job that erases the bodies of
// events once their deliveries have ended. It emits customer.updated without personal data. verified is the hash of the
// password that the customer has confirmed; nil = by a user of the store. It returns NOT_FOUND, also for an erased
// customer, TOKEN_REVOKED if the customer's session has ended, CONFLICT while an order or reservation is open, and
// INVALID_CREDENTIALS if the password has changed.
func (db *DB) EraseCustomer(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, id app.CustomerID, verified *string,
) error {
	now = app.At(now).Time
	store := caller.StoreID
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		customer, err := lockForErasure(ctx, tx, caller, id, verified)
		if err != nil {
			return err
		}
		for _, statement := range erasures {
			if _, err := tx.Tx.ExecContext(ctx, statement, store, id, now); err != nil {
				return fmt.Errorf("%w: %s", err, statement)
			}
		}
		if _, err := tx.Tx.ExecContext(ctx, "SELECT erase_customer_audit($1, $2)", id, customer.Email); err != nil {
			return err
		}
		customer.Email, customer.FirstName, customer.LastName, customer.Phone = "", "", "", ""
		customer.ExternalID, customer.Metadata, customer.ErasedAt = "", map[string]string{}, new(app.At(now))
		if _, err := identity.EmitCustomerUpdated(ctx, tx, now, customer, []string{app.FieldErased}); err != nil {
			return err
		}
		if by.Realm == app.RealmCustomer { // the entry must not contain what the erasure has replaced
			by.Address = string(id)
		}
		if err := pg.Audit(ctx, tx, now, store, by, app.AuditCustomerErased, string(id), nil); err != nil {
			return err
		}
		return delivery.EnqueueJob(ctx, tx, now, store, app.JobErasure, string(id))
	})
}

// isErased reports whether the personal data of a version of a locked order are erased: those of its customer then.
// Such data must not be written again; a repeated request can still contain them.
func isErased(ctx context.Context, tx bun.Tx, order app.Order, version int64) (erased bool, err error) {
	err = tx.Tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM customers
			WHERE store_id = $1 AND erased_at IS NOT NULL AND id = coalesce((
				SELECT former_customer FROM order_history
				WHERE store_id = $1 AND order_id = $3 AND version > $4 AND former_customer IS NOT NULL
				ORDER BY version LIMIT 1), $2))`,
		order.StoreID, order.Customer.ID, order.ID, version).Scan(&erased)
	return erased, err
}

// lockForErasure locks the orders and the reservations of a customer, then the customer, in the order of other
// transactions. It returns the errors of [DB.EraseCustomer].
func lockForErasure(
	ctx context.Context, tx bun.Tx, caller app.Principal, id app.CustomerID, verified *string,
) (app.Customer, error) {
	store := caller.StoreID
	for _, table := range []string{"orders", "reservations"} {
		_, err := tx.Tx.ExecContext(ctx, `SELECT FROM `+table+` WHERE store_id = $1 AND customer_id = $2
			ORDER BY id FOR NO KEY UPDATE`, store, id)
		if err != nil {
			return app.Customer{}, err
		}
	}
	customer, err := identity.LockCustomerFor(ctx, tx, caller, id)
	if err != nil {
		return customer, err
	}
	var hash string
	var open bool
	err = tx.Tx.QueryRowContext(ctx, `SELECT password_hash, EXISTS (
				SELECT FROM orders
				WHERE store_id = $1 AND customer_id = $2 AND status NOT IN ('COMPLETED', 'CANCELLED'))
			OR EXISTS (SELECT FROM reservations
				WHERE store_id = $1 AND customer_id = $2 AND status IN ('PENDING', 'CONFIRMED'))
		FROM customers WHERE store_id = $1 AND id = $2`, store, id).Scan(&hash, &open)
	switch {
	case err != nil:
	case verified != nil && *verified != hash:
		err = app.Errorf(app.CodeInvalidCredentials, "the password has changed; use the new password")
	case open:
		err = app.Errorf(app.CodeConflict, "the customer has an open order or reservation; complete or cancel it first")
	}
	return customer, err
}
