package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// maxResets is the number of live links of one account; a further one ends the oldest
// (docs/behaviour.md#password-resets).
const maxResets = 5

// MailReset creates a link that resets a user's password, and enqueues its mail. It does nothing if the user is
// disabled or all websites of the user are suspended. Only enqueued mails contain the token, sealed.
func (db *DB) MailReset(ctx context.Context, now time.Time, user app.UserID, token app.Secret) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := db.pg.LimitAccountLocks(ctx, tx); err != nil {
			return err
		}
		var store app.StoreID
		// The mail of a platform administrator, who belongs to no store, is kept with those of the first store.
		err := tx.Tx.QueryRowContext(ctx, `SELECT coalesce(
				(SELECT s.id FROM memberships m JOIN stores s ON s.id = m.store_id
					JOIN websites w ON w.id = s.website_id
				WHERE m.user_id = u.id AND w.suspended_at IS NULL AND s.sandbox_of IS NULL
				ORDER BY s.id = u.last_store_id DESC NULLS LAST, s.created_at, s.id LIMIT 1),
				(SELECT s.id FROM stores s WHERE u.platform_role IS NOT NULL ORDER BY s.created_at, s.id LIMIT 1), '')
			FROM users u WHERE u.id = $1 AND u.disabled_at IS NULL FOR UPDATE OF u`, user).Scan(&store)
		if errors.Is(err, sql.ErrNoRows) || err == nil && store == "" {
			return nil
		}
		if err != nil {
			return err
		}
		id, err := insertReset(ctx, tx, now, user, token, true)
		if err != nil {
			return err
		}
		return db.queue.EnqueueSealedMail(ctx, tx, now, store, app.MailPasswordReset, string(id), token)
	})
}

// CreateReset creates a link that resets the password of the user with an email, without a mail. It
// returns NOT_FOUND if there is no such user, and CONFLICT if the user is disabled.
func (db *DB) CreateReset(ctx context.Context, now time.Time, by app.Actor, email string, token app.Secret) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, disabled, err := lockUserByEmail(ctx, tx, email)
		if err != nil {
			return err
		}
		if disabled {
			return app.Errorf(app.CodeConflict, "the user is disabled; enable the user first")
		}
		if _, err := insertReset(ctx, tx, now, user, token, false); err != nil {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, user, by, app.AuditPasswordResetIssued, nil)
	})
}

// insertReset inserts a link of a user, whose row is locked, and ends the oldest links beyond maxResets.
func insertReset(
	ctx context.Context, tx bun.Tx, now time.Time, user app.UserID, token app.Secret, mailed bool,
) (app.PasswordResetID, error) {
	id, hash := app.NewID[app.PasswordResetID](now), sha256.Sum256([]byte(token.Reveal()))
	_, err := tx.Tx.ExecContext(ctx, `DELETE FROM password_resets WHERE id IN (
		SELECT id FROM password_resets WHERE user_id = $1 ORDER BY created_at DESC, id DESC OFFSET $2)`,
		user, maxResets-1)
	if err != nil {
		return "", err
	}
	_, err = tx.Tx.ExecContext(ctx, `INSERT INTO password_resets (id, user_id, token_hash, mailed, created_at,
			expires_at)
		VALUES ($1, $2, $3, $4, $5, $6)`, id, user, hash[:], mailed, now, now.Add(app.PasswordResetTTL))
	return id, err
}

// MailCustomerReset is [DB.MailReset] for a customer of a store. It does nothing if the store's website
// is suspended.
func (db *DB) MailCustomerReset(
	ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, token app.Secret,
) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var found string
		err := tx.Tx.QueryRowContext(ctx, `SELECT c.id FROM customers c JOIN stores s ON s.id = c.store_id
			WHERE c.store_id = $1 AND c.id = $2 AND c.disabled_at IS NULL AND c.erased_at IS NULL
				AND NOT website_suspended(s.website_id)
			FOR UPDATE OF c`, store, customer).Scan(&found)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = tx.Tx.ExecContext(ctx, `DELETE FROM customer_password_resets WHERE store_id = $1 AND id IN (
			SELECT id FROM customer_password_resets WHERE store_id = $1 AND customer_id = $2
			ORDER BY created_at DESC, id DESC OFFSET $3)`, store, customer, maxResets-1)
		if err != nil {
			return err
		}
		id, hash := app.NewID[app.PasswordResetID](now), sha256.Sum256([]byte(token.Reveal()))
		_, err = tx.Tx.ExecContext(ctx, `INSERT INTO customer_password_resets
				(id, store_id, customer_id, token_hash, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6)`, id, store, customer, hash[:], now, now.Add(app.PasswordResetTTL))
		if err != nil {
			return err
		}
		return db.queue.EnqueueSealedMail(ctx, tx, now, store, app.MailCustomerPasswordReset, string(id), token)
	})
}

// Reset is a link that can reset a password.
type Reset struct {
	Words []string // that must not make up the new password
}

// websiteOfUser is the website of users u, that of the last used store; "" = none.
const websiteOfUser = `coalesce((
	SELECT s.website_id FROM memberships m JOIN stores s ON s.id = m.store_id WHERE m.user_id = u.id
	ORDER BY s.id = u.last_store_id DESC NULLS LAST, s.created_at, s.id LIMIT 1), '')`

// PendingReset returns the link of a user with a token. It returns TOKEN_INVALID if the token is unknown, used or
// expired.
func (db *DB) PendingReset(ctx context.Context, now time.Time, token app.Secret) (reset Reset, err error) {
	var user app.UserID
	hash := sha256.Sum256([]byte(token.Reveal()))
	err = db.pg.System().DB.QueryRowContext(ctx, `SELECT user_id FROM password_resets
		WHERE token_hash = $1 AND expires_at > $2`, hash[:], now).Scan(&user)
	if err != nil {
		return reset, resetInvalid(err)
	}
	reset.Words, err = db.UserWords(ctx, user)
	return reset, err
}

// PendingCustomerReset is [DB.PendingReset] for a customer.
func (db *DB) PendingCustomerReset(ctx context.Context, now time.Time, token app.Secret) (reset Reset, err error) {
	var store app.StoreID
	var email, first, last string
	hash := sha256.Sum256([]byte(token.Reveal()))
	err = db.pg.System().DB.QueryRowContext(ctx, `SELECT c.store_id, c.email, c.first_name, c.last_name
		FROM customer_password_resets r JOIN customers c ON c.store_id = r.store_id AND c.id = r.customer_id
		WHERE r.token_hash = $1 AND r.expires_at > $2`, hash[:], now).
		Scan(&store, &email, &first, &last)
	if err != nil {
		return reset, resetInvalid(err)
	}
	words, err := db.StoreWords(ctx, store)
	reset.Words = append(words, email, first, last)
	return reset, err
}

// resetInvalid returns TOKEN_INVALID for a query that found no link.
func resetInvalid(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return app.Errorf(app.CodeTokenInvalid, "the link is no longer valid; request a new one")
	}
	return pg.Classify(err)
}

// ResetPassword replaces the password hash of the user to whom a token belongs, ends all sessions of the
// user and, by a trigger, all links. A mailed token proves the email, see [claimEmail]. It returns TOKEN_INVALID if the
// token is unknown, used or expired; of two concurrent calls, one succeeds.
func (db *DB) ResetPassword(ctx context.Context, now time.Time, by app.Actor, token app.Secret, hash string) error {
	key := sha256.Sum256([]byte(token.Reveal()))
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var user app.User
		var mailed, proven bool
		err := tx.Tx.QueryRowContext(ctx, `SELECT u.id, u.platform_role, u.email_proven FROM users u
			WHERE u.id = (SELECT user_id FROM password_resets WHERE token_hash = $1) AND u.disabled_at IS NULL
			FOR UPDATE`, key[:]).Scan(&user.ID, &user.PlatformRole, &proven)
		if err != nil {
			return resetInvalid(err)
		}
		err = tx.Tx.QueryRowContext(ctx, `DELETE FROM password_resets WHERE token_hash = $1 AND expires_at > $2
			RETURNING mailed`, key[:], now).Scan(&mailed)
		if err != nil {
			return resetInvalid(err)
		}
		if _, err := tx.Tx.ExecContext(ctx, `UPDATE users SET password_hash = $1 WHERE id = $2`, hash,
			user.ID); err != nil {
			return err
		}
		if _, err := userSessions.end(ctx, tx, now, string(user.ID), "", app.EndedByPassword); err != nil {
			return err
		}
		err = pg.AuditUser(ctx, tx, now, user.ID, by.As(user), app.AuditPasswordReset, string(user.ID), nil)
		if err != nil || !mailed || proven {
			return err
		}
		return claimEmail(ctx, tx, now, by.As(user), user.ID)
	})
}

// ResetCustomerPassword is [DB.ResetPassword] for a customer. The token proves the email. The social identities are
// removed, because a person who knew the password may have linked one. An identity whose provider vouches for the email
// links itself again at its next login. The name, phone number and addresses stay, because most accounts were
// registered by their owner.
func (db *DB) ResetCustomerPassword(
	ctx context.Context, now time.Time, by app.Actor, token app.Secret, hash string,
) error {
	now = app.At(now).Time
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		login, err := lockResetCustomer(ctx, tx, now, hashOf(token))
		if err != nil {
			return err
		}
		store, customer := login.Customer.StoreID, login.Customer.ID
		by := by.AsCustomer(customer)
		if _, err := tx.Tx.ExecContext(ctx, `UPDATE customers SET password_hash = $1, email_proven = true
			WHERE store_id = $2 AND id = $3`, hash, store, customer); err != nil {
			return err
		}
		if _, err := customerSessions(store).end(ctx, tx, now, string(customer), "", app.EndedByPassword); err != nil {
			return err
		}
		var unlinked []app.Provider
		err = tx.NewRaw(`WITH identities AS (
				DELETE FROM customer_identities WHERE store_id = ? AND customer_id = ? RETURNING provider
			) SELECT provider FROM identities ORDER BY provider`, store, customer).Scan(ctx, &unlinked)
		if err != nil {
			return err
		}
		details := map[string]any{}
		if len(unlinked) > 0 {
			details["unlinked"] = unlinked
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditPasswordReset, string(customer), details)
	})
}

// lockResetCustomer uses up the token with a hash and locks its customer. It returns TOKEN_INVALID if the token is
// unknown, used or expired, or the customer is disabled.
func lockResetCustomer(ctx context.Context, tx bun.Tx, now time.Time, hash []byte) (CustomerLogin, error) {
	login, err := scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c
		WHERE (c.store_id, c.id) = (SELECT store_id, customer_id FROM customer_password_resets WHERE token_hash = ?)
			AND c.disabled_at IS NULL
		FOR UPDATE`, loginColumns, hash))
	if err != nil {
		return login, resetInvalid(err)
	}
	var used string
	err = tx.Tx.QueryRowContext(ctx, `DELETE FROM customer_password_resets
		WHERE store_id = $1 AND token_hash = $2 AND expires_at > $3 RETURNING id`, login.Customer.StoreID, hash, now).
		Scan(&used)
	if err != nil {
		return login, resetInvalid(err)
	}
	return login, nil
}
