package identity

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// RequestEmailChange stores a new email of a logged-in customer, which takes effect when [DB.ConfirmEmailChange] is
// called with the token. It replaces an earlier request, and enqueues the mail with the link and the notice to the
// current email. Its effects do not depend on whether another customer has the new email. verified is the hash that
// matched the customer's password. RequestEmailChange returns INVALID_CREDENTIALS if that is no longer the stored hash,
// and TOKEN_REVOKED if the session has ended.
func (db *DB) RequestEmailChange(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, verified, email string, token app.Secret,
) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCustomerSession(ctx, tx, p); err != nil {
			return err
		}
		var current, hash string
		err := tx.Tx.QueryRowContext(ctx, `SELECT email, password_hash FROM customers WHERE store_id = $1 AND id = $2`,
			p.StoreID, p.CustomerID).Scan(&current, &hash)
		if err != nil {
			return err
		}
		if hash != verified {
			return app.Errorf(app.CodeInvalidCredentials, "the password has changed; use the new password")
		}
		if err := endEmailChange(ctx, tx, p.StoreID, p.CustomerID); err != nil {
			return err
		}
		id := app.NewID[app.EmailChangeID](now)
		_, err = tx.Tx.ExecContext(ctx, `INSERT INTO customer_email_changes
				(id, store_id, customer_id, email, token_hash, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			id, p.StoreID, p.CustomerID, email, hashOf(token), now, now.Add(app.EmailChangeTTL))
		if err != nil {
			return err
		}
		err = errors.Join(
			db.queue.EnqueueSealedMail(ctx, tx, now, p.StoreID, app.MailCustomerEmailChange, string(id), token),
			// The former address must get the notice also after the change.
			db.queue.EnqueueSealedMail(ctx, tx, now, p.StoreID, app.MailCustomerEmailNotice, string(p.CustomerID),
				app.NewSecret(current)))
		if err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditEmailChangeRequested, string(p.CustomerID), nil)
	})
}

// endEmailChange ends the requested change of the email of a locked customer.
func endEmailChange(ctx context.Context, tx bun.Tx, store app.StoreID, customer app.CustomerID) error {
	_, err := tx.Tx.ExecContext(ctx, `DELETE FROM customer_email_changes WHERE store_id = $1 AND customer_id = $2`, store,
		customer)
	return err
}

// ConfirmEmailChange replaces the email of the customer to whom a token belongs, and emits customer.updated. The token
// proves the email and is used up; of two concurrent calls, one succeeds. By a trigger, the change ends the customer's
// links. ConfirmEmailChange returns TOKEN_INVALID if the token is unknown, used or expired, and EMAIL_TAKEN if another
// customer of the store has the email meanwhile, which leaves the token as it is.
func (db *DB) ConfirmEmailChange(ctx context.Context, now time.Time, by app.Actor, token app.Secret) error {
	now = app.At(now).Time
	hash := hashOf(token)
	var store app.StoreID
	var id app.CustomerID
	err := db.pg.System().DB.QueryRowContext(ctx, `SELECT store_id, customer_id FROM customer_email_changes
		WHERE token_hash = $1`, hash).Scan(&store, &id)
	if err != nil {
		return resetInvalid(err)
	}
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		customer, err := lockCustomer(ctx, tx, store, id)
		if err != nil {
			return resetInvalid(err)
		}
		err = tx.Tx.QueryRowContext(ctx, `DELETE FROM customer_email_changes
			WHERE store_id = $1 AND customer_id = $2 AND token_hash = $3 AND expires_at > $4 RETURNING email`,
			store, id, hash, now).Scan(&customer.Email)
		if err != nil {
			return resetInvalid(err)
		}
		_, err = tx.Tx.ExecContext(ctx, `UPDATE customers SET email = $3, email_proven = true
			WHERE store_id = $1 AND id = $2`, store, id, customer.Email)
		if pg.IsDuplicate(err) {
			return app.Errorf(app.CodeEmailTaken, "another account has this email; request the change to another email")
		}
		if err != nil {
			return err
		}
		if _, err := EmitCustomerUpdated(ctx, tx, now, customer, []string{"email"}); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by.AsCustomer(id), app.AuditEmailChanged, string(id), nil)
	})
}
