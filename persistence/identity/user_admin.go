package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// The operations of `comanda admin` on users leave an entry in the trail of the platform, and of each store of the
// user.

// CreatePlatformAdmin creates a platform administrator. It returns CONFLICT if the email is in use, regardless of case.
func (db *DB) CreatePlatformAdmin(
	ctx context.Context, now time.Time, by app.Actor, email, name, passwordHash string,
) (app.UserID, error) {
	role := app.PlatformAdmin
	user := NewUser{Email: email, Name: name, PasswordHash: passwordHash, PlatformRole: &role}
	var id app.UserID
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if id, err = insertUser(ctx, tx, now, user); err != nil {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, id, by, app.AuditPlatformAdminCreated, map[string]any{"email": email})
	})
	return id, err
}

// lockUserByEmail locks the user with an email, regardless of case, NOT_FOUND if there is no such user.
func lockUserByEmail(ctx context.Context, tx bun.Tx, email string) (id app.UserID, disabled bool, err error) {
	err = tx.Tx.QueryRowContext(ctx, `SELECT id, disabled_at IS NOT NULL FROM users
		WHERE lower(email) = $1 FOR UPDATE`, app.NormalEmail(email)).Scan(&id, &disabled)
	return id, disabled, err
}

// DisableUser disables the user with an email and ends the user's sessions, effective from the next
// request. Triggers end links and invitations. A disabled user stays as it is. It returns NOT_FOUND if
// there is no such user.
func (db *DB) DisableUser(ctx context.Context, now time.Time, by app.Actor, email string) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, disabled, err := lockUserByEmail(ctx, tx, email)
		if err != nil || disabled {
			return err
		}
		if err := endInvitationsOf(ctx, tx, now, by, user, ""); err != nil {
			return err
		}
		if _, err := tx.NewRaw(`UPDATE users SET disabled_at = ? WHERE id = ?`, now, user).Exec(ctx); err != nil {
			return err
		}
		if _, err := userSessions.end(ctx, tx, now, string(user), "", app.EndedByAdmin); err != nil {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, user, by, app.AuditUserDisabled, nil)
	})
}

// EnableUser ends the effect of [DB.DisableUser] except for ended sessions. An enabled user stays as it
// is. It returns NOT_FOUND if there is no such user.
func (db *DB) EnableUser(ctx context.Context, now time.Time, by app.Actor, email string) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, disabled, err := lockUserByEmail(ctx, tx, email)
		if err != nil || !disabled {
			return err
		}
		if _, err := tx.NewRaw(`UPDATE users SET disabled_at = NULL WHERE id = ?`, user).Exec(ctx); err != nil {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, user, by, app.AuditUserEnabled, nil)
	})
}

// EndSessions ends all sessions of the user with an email and returns their number. It returns NOT_FOUND
// if there is no such user.
func (db *DB) EndSessions(ctx context.Context, now time.Time, by app.Actor, email string) (int64, error) {
	var n int64
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, _, err := lockUserByEmail(ctx, tx, email)
		if err != nil {
			return err
		}
		if n, err = userSessions.end(ctx, tx, now, string(user), "", app.EndedByAdmin); err != nil || n == 0 {
			return err
		}
		return pg.AuditOperator(ctx, tx, now, user, by, app.AuditSessionEnded, map[string]any{"sessions": n})
	})
	return n, err
}
