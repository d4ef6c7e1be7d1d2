package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// LoginOf returns the login of a user, NOT_FOUND if there is no such user.
func (db *DB) LoginOf(ctx context.Context, user app.UserID) (Login, error) {
	var login Login
	err := db.pg.System().DB.QueryRowContext(ctx, `SELECT id, email, name, platform_role, password_hash,
		disabled_at IS NOT NULL FROM users WHERE id = $1`, user).
		Scan(&login.User.ID, &login.User.Email, &login.User.Name, &login.User.PlatformRole, &login.PasswordHash,
			&login.Disabled)
	return login, pg.Classify(err)
}

// CustomerLoginOf returns the login of a registered customer, NOT_FOUND if the store has no such
// customer.
func (db *DB) CustomerLoginOf(ctx context.Context, store app.StoreID, customer app.CustomerID) (CustomerLogin, error) {
	var login CustomerLogin
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		login, err = scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c
			WHERE c.store_id = ? AND c.id = ? AND c.kind = 'registered'`, loginColumns, store, customer))
		return err
	})
	return login, err
}

// ChangePassword replaces the password hash of a logged-in user and ends all other sessions of the user.
// It returns INVALID_CREDENTIALS if the stored hash is no longer the verified one, and TOKEN_REVOKED if
// the session has ended.
func (db *DB) ChangePassword(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, verified, hash string,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockSession(ctx, tx, p); err != nil {
			return err
		}
		if err := changeVerified(ctx, tx, `UPDATE users SET password_hash = $1 WHERE id = $2 AND password_hash = $3`,
			hash, p.UserID, verified); err != nil {
			return err
		}
		if _, err := userSessions.end(ctx, tx, now, string(p.UserID), p.SessionID, app.EndedByPassword); err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, p.UserID, by, app.AuditPasswordChanged, string(p.UserID), nil)
	})
}

// ChangeCustomerPassword is [DB.ChangePassword] for a customer.
func (db *DB) ChangeCustomerPassword(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, verified, hash string,
) error {
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCustomerSession(ctx, tx, p); err != nil {
			return err
		}
		if err := changeVerified(ctx, tx, `UPDATE customers SET password_hash = $1
			WHERE store_id = $4 AND id = $2 AND password_hash = $3`,
			hash, p.CustomerID, verified, p.StoreID); err != nil {
			return err
		}
		_, err := customerSessions(p.StoreID).end(ctx, tx, now, string(p.CustomerID), p.SessionID, app.EndedByPassword)
		if err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditPasswordChanged, string(p.CustomerID), nil)
	})
}

// changeVerified runs an update that requires the verified password hash, INVALID_CREDENTIALS if it changes no row.
func changeVerified(ctx context.Context, tx bun.Tx, statement string, args ...any) error {
	result, err := tx.Tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, app.Errorf(app.CodeInvalidCredentials,
			"the password has changed; use the new password"))
	}
	return nil
}

// UserWords returns the words that must not make up the password of a user: the email, the name, and the
// names of the user's stores and their websites.
func (db *DB) UserWords(ctx context.Context, user app.UserID) ([]string, error) {
	return db.words(ctx, `SELECT array[u.email, u.name] || array(
			SELECT unnest(array[s.name, w.name, w.domain])
			FROM memberships m JOIN stores s ON s.id = m.store_id JOIN websites w ON w.id = s.website_id
			WHERE m.user_id = u.id)
		FROM users u WHERE u.id = $1`, user)
}

// InvitationWords returns the words that must not make up the password of an invited person: the email
// and the name of the invitation, and the names of its stores and its website. They are empty for an
// unknown token.
func (db *DB) InvitationWords(ctx context.Context, token app.Secret) ([]string, error) {
	hash := sha256.Sum256([]byte(token.Reveal()))
	return db.words(ctx, `SELECT array[i.email, i.name, w.name, w.domain]
			|| array(SELECT s.name FROM stores s WHERE s.id = ANY (i.store_ids))
		FROM invitations i JOIN websites w ON w.id = i.website_id WHERE i.token_hash = $1`, hash[:])
}

// StoreWords returns the words that must not make up the password of a store's customer: the names of
// the store and its website. They are empty for an unknown store.
func (db *DB) StoreWords(ctx context.Context, store app.StoreID) ([]string, error) {
	return db.words(ctx, `SELECT array[s.name, w.name, w.domain]
		FROM stores s JOIN websites w ON w.id = s.website_id WHERE s.id = $1`, store)
}

// words returns the array of texts that a query selects, nil if it selects no row.
func (db *DB) words(ctx context.Context, query string, arg any) (words []string, err error) {
	err = db.pg.System().DB.QueryRowContext(ctx, query, arg).Scan(pgdialect.Array(&words))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return words, pg.Classify(err)
}
