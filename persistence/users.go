package persistence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// NewUser is what it takes to make a user. PasswordHash is encoded Argon2id.
type NewUser struct {
	Email        string
	Name         string
	PasswordHash string
	PlatformRole *string
	Roles        map[app.StoreID]app.Role
}

// CreateUser makes a user with its roles. An e-mail address already in use, in any case,
// is CONFLICT.
func (db *DB) CreateUser(ctx context.Context, now time.Time, user NewUser) (app.UserID, error) {
	id := app.NewID[app.UserID](now)
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`INSERT INTO users (id, email, name, password_hash, platform_role, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
			id, user.Email, user.Name, user.PasswordHash, user.PlatformRole, now).Exec(ctx)
		if pg.IsDuplicate(err) {
			return app.Errorf(app.CodeConflict, "there is a user with the address %s already", user.Email)
		}
		if err != nil {
			return err
		}
		for store, role := range user.Roles {
			_, err := tx.NewRaw(`INSERT INTO memberships (user_id, store_id, role, created_at) VALUES (?, ?, ?, ?)`,
				id, store, role, now).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return id, err
}

// Login is what a password is checked against.
type Login struct {
	User         app.User
	PasswordHash string
	Disabled     bool
}

// LoginByEmail returns the user with that e-mail address, in any case; NOT_FOUND if there
// is none.
func (db *DB) LoginByEmail(ctx context.Context, email string) (Login, error) {
	var login Login
	err := db.System().NewRaw(`SELECT id, email, name, platform_role, password_hash, disabled_at IS NOT NULL
		FROM users WHERE lower(email) = lower(?)`, email).
		Scan(ctx, &login.User.ID, &login.User.Email, &login.User.Name, &login.User.PlatformRole, &login.PasswordHash, &login.Disabled)
	return login, pg.Classify(err)
}

// SetPasswordHash replaces a user's hash, unless it is no longer the one that was checked.
func (db *DB) SetPasswordHash(ctx context.Context, user app.UserID, checked, hash string) error {
	_, err := db.System().NewRaw(`UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?`, hash, user, checked).Exec(ctx)
	return pg.Classify(err)
}

// LoginFailed notes in the audit trails that somebody failed to log in as a user, and why.
// For who is no user it takes the same steps and notes nothing.
func (db *DB) LoginFailed(ctx context.Context, now time.Time, by app.Actor, user app.User, why app.LoginFault) error {
	return pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		return pg.AuditUser(ctx, tx, now, user.ID, by.Unknown(user.Realm()), app.AuditLoginFailed, string(user.ID), map[string]any{"reason": why})
	})
}

// Session is a login that has begun.
type Session struct {
	ID             app.SessionID
	RefreshCounter int64
	StoreID        app.StoreID // "" for platform administrators
	Role           app.Role
	Stores         []app.StoreEntry
}

// StartSession begins a session in the wanted store, else in the one last used, else in
// the first. A wanted store that the user does not belong to is STORE_MISMATCH; a user
// without any store who is no platform administrator is NOT_FOUND.
func (db *DB) StartSession(ctx context.Context, now time.Time, by app.Actor, user app.User, wanted app.StoreID, ttl time.Duration) (Session, error) {
	session := Session{ID: app.NewID[app.SessionID](now)}
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
		var last sql.NullString
		var err error
		if err = tx.NewRaw(`SELECT last_store_id FROM users WHERE id = ? FOR UPDATE`, user.ID).Scan(ctx, &last); err != nil {
			return err
		}
		if session.Stores, err = stores(ctx, tx, user.ID); err != nil {
			return err
		}
		entry, err := chooseStore(session.Stores, wanted, app.StoreID(last.String))
		if err != nil && user.PlatformRole == nil {
			return err
		}
		if user.PlatformRole != nil {
			_, err := tx.NewRaw(`INSERT INTO sessions (id, user_id, created_at, expires_at) VALUES (?, ?, ?, ?)`,
				session.ID, user.ID, now, now.Add(ttl)).Exec(ctx)
			if err != nil {
				return err
			}
			return pg.AuditUser(ctx, tx, now, user.ID, by.As(user), app.AuditLoginSucceeded, string(session.ID), nil)
		}
		session.StoreID, session.Role = entry.StoreID, entry.Role
		_, err = tx.NewRaw(`WITH used AS (UPDATE users SET last_store_id = ? WHERE id = ?)
			INSERT INTO sessions (id, user_id, active_store_id, active_view_id, created_at, expires_at)
			SELECT ?, ?, store_id, id, ?, ? FROM store_views WHERE store_id = ? AND is_default`,
			entry.StoreID, user.ID, session.ID, user.ID, now, now.Add(ttl), entry.StoreID).Exec(ctx)
		if err != nil {
			return err
		}
		return pg.AuditUser(ctx, tx, now, user.ID, by.As(user), app.AuditLoginSucceeded, string(session.ID), nil)
	})
	return session, err
}

func chooseStore(entries []app.StoreEntry, wanted, last app.StoreID) (app.StoreEntry, error) {
	if len(entries) == 0 {
		return app.StoreEntry{}, app.NotFound()
	}
	for _, choice := range []app.StoreID{wanted, last} {
		for _, entry := range entries {
			if entry.StoreID == choice {
				return entry, nil
			}
		}
		if wanted != "" {
			return app.StoreEntry{}, app.Errorf(app.CodeStoreMismatch, "you do not work in this store")
		}
	}
	return entries[0], nil
}

// Stores returns the stores in which a user works, as StartSession does.
func (db *DB) Stores(ctx context.Context, user app.UserID) ([]app.StoreEntry, error) {
	entries, err := stores(ctx, db.System(), user)
	return entries, pg.Classify(err)
}

// stores returns the stores in which a user works, the oldest first, without those of
// suspended websites.
func stores(ctx context.Context, tx bun.IDB, user app.UserID) ([]app.StoreEntry, error) {
	var rows []struct {
		app.StoreEntry
		View app.StoreView `bun:"embed:view_"`
	}
	err := tx.NewRaw(`SELECT s.id AS store_id, s.name AS store_name, w.id AS website_id, w.name AS website_name,
			w.domain AS website_domain, m.role, s.country_code,
			v.id AS view_id, v.code AS view_code, v.locale AS view_locale, v.currency AS view_currency, v.is_default AS view_is_default
		FROM memberships m JOIN stores s ON s.id = m.store_id JOIN websites w ON w.id = s.website_id
			JOIN store_views v ON v.store_id = s.id
		WHERE m.user_id = ? AND w.suspended_at IS NULL ORDER BY s.created_at, s.id, v.is_default DESC, v.id`, user).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	entries := []app.StoreEntry{}
	for _, row := range rows {
		if len(entries) == 0 || entries[len(entries)-1].StoreID != row.StoreID {
			entries = append(entries, row.StoreEntry)
		}
		last := &entries[len(entries)-1]
		last.StoreViews = append(last.StoreViews, row.View)
	}
	return entries, nil
}

// Authenticate returns who a session's token stands for, in one query: the role is the
// database's, the view the session's. A session that ended, a disabled user or a
// membership that is gone is TOKEN_REVOKED, and so is everybody's while the website is
// suspended. store is "" for platform administrators.
func (db *DB) Authenticate(ctx context.Context, session app.SessionID, user app.UserID, store app.StoreID) (app.Principal, error) {
	p := app.Principal{Realm: app.RealmTenant, SessionID: session, UserID: user, StoreID: store}
	if store == "" {
		p.Realm = app.RealmPlatform
	}
	err := db.System().DB.QueryRowContext(ctx, `SELECT s.created_at, coalesce(m.role, ''), coalesce(st.website_id, ''),
			coalesce(v.id, ''), coalesce(v.code, ''), coalesce(v.locale, ''), coalesce(v.currency, ''), coalesce(v.is_default, false)
		FROM sessions s
		JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
		LEFT JOIN memberships m ON m.user_id = u.id AND m.store_id = $3
		LEFT JOIN stores st ON st.id = m.store_id
		LEFT JOIN websites w ON w.id = st.website_id
		LEFT JOIN store_views v ON v.store_id = m.store_id
			AND CASE WHEN s.active_store_id = m.store_id THEN v.id = s.active_view_id ELSE v.is_default END
		WHERE s.id = $1 AND s.user_id = $2 AND s.ended_at IS NULL
			AND CASE WHEN $3 = '' THEN u.platform_role IS NOT NULL ELSE m.role IS NOT NULL AND w.suspended_at IS NULL END`, session, user, store).
		Scan(&p.LoggedInAt, &p.Role, &p.WebsiteID, &p.View.ID, &p.View.Code, &p.View.Locale, &p.View.Currency, &p.View.IsDefault)
	if errors.Is(err, sql.ErrNoRows) {
		return app.Principal{}, sessionEnded()
	}
	return p, pg.Classify(err)
}

// Me returns the user and, in the tenant realm, the active store.
func (db *DB) Me(ctx context.Context, p app.Principal) (app.User, *app.StoreContext, error) {
	var user app.User
	var store app.StoreContext
	err := db.System().NewRaw(`SELECT u.id, u.email, u.name, coalesce(s.id, ''), coalesce(s.name, ''), coalesce(s.country_code, ''), coalesce(s.timezone, '')
		FROM users u LEFT JOIN stores s ON s.id = ? WHERE u.id = ?`, p.StoreID, p.UserID).
		Scan(ctx, &user.ID, &user.Email, &user.Name, &store.StoreID, &store.StoreName, &store.CountryCode, &store.Timezone)
	if err != nil || store.StoreID == "" {
		return user, nil, pg.Classify(err)
	}
	store.WebsiteID, store.Role, store.Locale, store.Currency = p.WebsiteID, p.Role, p.View.Locale, p.View.Currency
	return user, &store, nil
}
