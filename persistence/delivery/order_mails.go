package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// managesOrders is the condition that a member of a store gets its mails about orders that were not accepted.
const managesOrders = "role IN ('OWNER', 'ADMIN', 'MANAGER')"

// Reasons of an obsolete mail about an order.
const (
	obsoleteManager  = "the recipient is no longer a MANAGER, ADMIN or OWNER of the store"
	obsoleteReminder = "the order is no longer in RECEIVED"
)

// EnqueueOrderMails enqueues a mail about an order that was not accepted for MANAGERs, ADMINs and OWNERs of the store,
// see noticeRecipients. kind is MailOrderReminder or MailOrderCancelled. Without a mail server it does nothing.
func (q *Queue) EnqueueOrderMails(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind, order app.OrderID,
) error {
	if !q.mails {
		return nil
	}
	return enqueueMails(ctx, tx, now, store, kind, string(order), json.RawMessage("{}"), managesOrders)
}

// loadOrderMail adds the content to a mail about an order. A reminder of an order that has left RECEIVED, and a mail to
// a user who no longer manages the store, becomes obsolete.
func loadOrderMail(ctx context.Context, tx bun.Tx, store app.StoreID, row mailRow, mail *app.Mail) error {
	err := tx.Tx.QueryRowContext(ctx, `SELECT u.name, u.email FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.store_id = $1 AND m.user_id = $2 AND m.`+managesOrders+` AND u.disabled_at IS NULL`,
		store, row.Recipient).Scan(&mail.Name, &mail.Email)
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteManager
		return nil
	}
	if err != nil {
		return err
	}
	content := app.OrderMail{ID: app.OrderID(row.Subject)}
	var status app.OrderStatus
	err = tx.Tx.QueryRowContext(ctx, `SELECT o.number, o.status, o.created_at, s.name, s.timezone
		FROM orders o JOIN stores s ON s.id = o.store_id WHERE o.store_id = $1 AND o.id = $2`, store, content.ID).
		Scan(&content.Number, &status, &content.PlacedAt.Time, &content.Store, &content.Timezone)
	if err != nil {
		return err
	}
	if row.Kind == app.MailOrderReminder && status != app.OrderReceived {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteReminder
		return nil
	}
	content.Payments, err = refundsDue(ctx, tx, store, content.ID)
	mail.Order = &content
	return err
}

// refundsDue returns the succeeded payments of an order that are not fully refunded, oldest first.
func refundsDue(ctx context.Context, tx bun.Tx, store app.StoreID, order app.OrderID) ([]app.OrderRefund, error) {
	rows, err := tx.Tx.QueryContext(ctx, `
		SELECT provider, transaction_id, amount_minor - refunded_minor - refunded_tip, currency
		FROM payments WHERE store_id = $1 AND order_id = $2 AND status = 'SUCCEEDED'
			AND amount_minor > refunded_minor + refunded_tip
		ORDER BY created_at, id`, store, order)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var due []app.OrderRefund
	for rows.Next() {
		var r app.OrderRefund
		if err := rows.Scan(&r.Provider, &r.TransactionID, &r.LeftMinor, &r.Currency); err != nil {
			return nil, err
		}
		due = append(due, r)
	}
	return due, rows.Err()
}
