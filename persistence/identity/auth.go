package identity

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// NewUser is a user to create. PasswordHash is an encoded Argon2id hash.
type NewUser struct {
	Email        string
	Name         string
	PasswordHash string
	PlatformRole *string
	Roles        map[app.StoreID]app.Role
}

// CreateUser creates a user with roles without an invitation, for programs that set up a store. The user's email counts
// as proven. It returns CONFLICT if the email is in use, regardless of case.
func (db *DB) CreateUser(ctx context.Context, now time.Time, user NewUser) (app.UserID, error) {
	var id app.UserID
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		id, err = insertUser(ctx, tx, now, user)
		return err
	})
	return id, err
}

func insertUser(ctx context.Context, tx bun.Tx, now time.Time, user NewUser) (app.UserID, error) {
	id := app.NewID[app.UserID](now)
	created, err := pg.Inserted(tx.NewRaw(`INSERT INTO users
			(id, email, email_proven, name, password_hash, platform_role, created_at)
		VALUES (?, ?, true, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		id, user.Email, user.Name, user.PasswordHash, user.PlatformRole, now).Exec(ctx))
	if err != nil {
		return "", err
	}
	if !created {
		return "", app.Errorf(app.CodeConflict, "a user with the email %s already exists", user.Email)
	}
	for store, role := range user.Roles {
		_, err := tx.NewRaw(`INSERT INTO memberships (user_id, store_id, role, created_at) VALUES (?, ?, ?, ?)`,
			id, store, role, now).Exec(ctx)
		if err != nil {
			return "", err
		}
	}
	return id, nil
}

// Login is the stored data with which a login of a user is checked.
type Login struct {
	User         app.User
	PasswordHash string
	Disabled     bool
}

// LoginByEmail returns the user with an email, regardless of case, NOT_FOUND if there is no such user.
func (db *DB) LoginByEmail(ctx context.Context, email string) (Login, error) {
	var login Login
	err := db.pg.System().NewRaw(`SELECT id, email, name, platform_role, password_hash, disabled_at IS NOT NULL
		FROM users WHERE lower(email) = ?`, app.NormalEmail(email)).
		Scan(ctx, &login.User.ID, &login.User.Email, &login.User.Name, &login.User.PlatformRole, &login.PasswordHash,
			&login.Disabled)
	return login, pg.Classify(err)
}

// SetPasswordHash replaces a user's password hash, unless it is no longer the verified one.
func (db *DB) SetPasswordHash(ctx context.Context, user app.UserID, verified, hash string) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := db.pg.LimitAccountLocks(ctx, tx); err != nil {
			return err
		}
		_, err := tx.NewRaw(`UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?`, hash, user,
			verified).Exec(ctx)
		return err
	})
}

// LoginFailed records a failed login of a user and its reason in the audit trails of the user's
// stores. For an unknown user it takes the same steps and records nothing.
func (db *DB) LoginFailed(
	ctx context.Context, now time.Time, by app.Actor, user app.User, reason app.LoginFault,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		return pg.AuditUser(ctx, tx, now, user.ID, by.Unknown(user.Realm()), app.AuditLoginFailed, string(user.ID),
			map[string]any{"reason": reason})
	})
}

// Session is a new session of a user.
type Session struct {
	ID             app.SessionID
	RefreshCounter int64
	StoreID        app.StoreID // "" for platform administrators
	Role           app.Role
	Stores         []app.StoreEntry
}

// Proof holds the credentials of a login. Verified is the stored hash that the password matched.
type Proof struct {
	Verified string
	OTP      OTPUse
}

// OTPRefused is the error of a wrong, used or missing one-time password. A wrong one is counted.
type OTPRefused struct{ error }

func (e OTPRefused) Unwrap() error { return e.error }

// StartSession starts a session of a user with a proof: in the wanted store, otherwise in the last used store, or in
// the first store. It returns INVALID_CREDENTIALS if the verified hash is no longer the user's, or the user has been
// disabled: a login that began before a change of the password must not survive it. It returns [OTPRefused] with
// OTP_REQUIRED or INVALID_CREDENTIALS, and RATE_LIMITED while the budget of failures is used up. It returns
// STORE_MISMATCH if the user is not a member of the wanted store, NOT_FOUND if the user has no store and is not a
// platform administrator, and WEBSITE_SUSPENDED if the website of the wanted store, or every website of the user, is
// suspended. A right one-time password is used up only if the session starts. The lock of the user serializes
// concurrent calls, so that exactly one can use a code.
func (db *DB) StartSession(
	ctx context.Context, now time.Time, by app.Actor, user app.User, proof Proof, wanted app.StoreID, ttl time.Duration,
) (Session, error) {
	var session Session
	err := db.inProven(ctx, now, by, user, proof, func(ctx context.Context, tx bun.Tx) (err error) {
		session, err = startSession(ctx, tx, now, by, user, wanted, ttl)
		return err
	})
	return session, err
}

// inProven runs f in a transaction that has locked a user, checked a proof and used up its one-time password. Its
// errors are those of [DB.StartSession] and f.
func (db *DB) inProven(
	ctx context.Context, now time.Time, by app.Actor, user app.User, proof Proof,
	f func(ctx context.Context, tx bun.Tx) error,
) error {
	var refusal error
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := db.pg.LimitAccountLocks(ctx, tx); err != nil {
			return err
		}
		var valid bool
		err := tx.NewRaw(`SELECT password_hash = ? AND disabled_at IS NULL FROM users WHERE id = ? FOR UPDATE`,
			proof.Verified, user.ID).Scan(ctx, &valid)
		if err != nil {
			return err
		}
		if !valid {
			return app.Errorf(app.CodeInvalidCredentials, "the password has changed; use the new password")
		}
		// The transaction is committed also after a refusal, so that it counts.
		if refusal, err = db.checkOTP(ctx, tx, now, by, user, proof.OTP); err != nil || refusal != nil {
			return err
		}
		return f(ctx, tx)
	})
	if err == nil && refusal != nil {
		err = OTPRefused{refusal}
	}
	return err
}

// startSession is [DB.StartSession] in a transaction.
func startSession(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.User, wanted app.StoreID, ttl time.Duration,
) (Session, error) {
	session := Session{ID: app.NewID[app.SessionID](now)}
	var last sql.NullString
	err := tx.NewRaw(`SELECT last_store_id FROM users WHERE id = ? FOR UPDATE`, user.ID).Scan(ctx, &last)
	if err != nil {
		return session, err
	}
	var suspended []app.StoreID
	if session.Stores, suspended, err = stores(ctx, tx, user.ID); err != nil {
		return session, err
	}
	if user.PlatformRole == nil {
		entry, err := chooseStore(session.Stores, suspended, wanted, app.StoreID(last.String))
		if err != nil {
			return session, err
		}
		session.StoreID, session.Role = entry.StoreID, entry.Role
	}
	if err := session.insert(ctx, tx, now, by, user.ID, ttl); err != nil {
		return session, err
	}
	return session, pg.AuditUser(ctx, tx, now, user.ID, by.As(user), app.AuditLoginSucceeded, string(session.ID), nil)
}

// insert writes a session of a user. The next login starts in its store.
func (s Session) insert(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.UserID, ttl time.Duration,
) error {
	if s.StoreID == "" {
		_, err := tx.Tx.ExecContext(ctx, `INSERT INTO sessions
				(id, user_id, created_at, proven_at, expires_at, address, user_agent)
			VALUES ($1, $2, $3, $3, $4, $5, $6)`, s.ID, user, now, now.Add(ttl), by.Address, by.UserAgent)
		return err
	}
	_, err := tx.Tx.ExecContext(ctx, `WITH used AS (UPDATE users SET last_store_id = $1 WHERE id = $2)
		INSERT INTO sessions
			(id, user_id, active_store_id, active_view_id, created_at, proven_at, expires_at, address, user_agent)
		SELECT $3, $2, store_id, id, $4, $4, $5, $6, $7 FROM store_views WHERE store_id = $1 AND is_default`,
		s.StoreID, user, s.ID, now, now.Add(ttl), by.Address, by.UserAgent)
	return err
}

// chooseStore returns the active store of a new session. suspended are further stores of the user, which
// cannot be active.
func chooseStore(
	entries []app.StoreEntry, suspended []app.StoreID, wanted, last app.StoreID,
) (app.StoreEntry, error) {
	switch {
	case slices.Contains(suspended, wanted), len(entries) == 0 && len(suspended) > 0:
		return app.StoreEntry{}, app.WebsiteSuspended()
	case len(entries) == 0:
		return app.StoreEntry{}, app.NotFound()
	}
	for _, choice := range []app.StoreID{wanted, last} {
		for _, entry := range entries {
			if entry.StoreID == choice {
				return entry, nil
			}
		}
		if wanted != "" {
			return app.StoreEntry{}, app.Errorf(app.CodeStoreMismatch, "you are not a member of this store")
		}
	}
	return entries[0], nil
}

// Stores returns the stores of a user in the order of [Session].
func (db *DB) Stores(ctx context.Context, user app.UserID) ([]app.StoreEntry, error) {
	entries, _, err := stores(ctx, db.pg.System(), user)
	return entries, pg.Classify(err)
}

// stores returns the stores of which a user is a member, oldest first. suspended are those of suspended
// websites, which entries does not contain.
func stores(
	ctx context.Context, tx bun.IDB, user app.UserID,
) (entries []app.StoreEntry, suspended []app.StoreID, err error) {
	var rows []struct {
		app.StoreEntry
		View      app.StoreView `bun:"embed:view_"`
		Suspended bool
	}
	err = tx.NewRaw(`SELECT s.id AS store_id, s.name AS store_name, w.id AS website_id, w.name AS website_name,
			w.domain AS website_domain, m.role, s.country_code, s.sandbox_of, w.suspended_at IS NOT NULL AS suspended,
			v.id AS view_id, v.code AS view_code, v.locale AS view_locale, v.currency AS view_currency,
			v.is_default AS view_is_default
		FROM memberships m JOIN stores s ON s.id = m.store_id JOIN websites w ON w.id = s.website_id
			JOIN store_views v ON v.store_id = s.id
		WHERE m.user_id = ?
		ORDER BY s.created_at, s.id, v.is_default DESC, v.id`, user).Scan(ctx, &rows)
	entries = []app.StoreEntry{}
	for _, row := range rows {
		if row.Suspended {
			suspended = append(suspended, row.StoreID)
			continue
		}
		if len(entries) == 0 || entries[len(entries)-1].StoreID != row.StoreID {
			entries = append(entries, row.StoreEntry)
		}
		last := &entries[len(entries)-1]
		last.StoreViews = append(last.StoreViews, row.View)
	}
	return entries, suspended, err
}

// Authenticate returns the principal of an access token in one query, with the role from the
// membership and the view from the session. store is "" for platform administrators. It returns
// TOKEN_REVOKED if the session has ended or the user is disabled or no longer a member, and
// WEBSITE_SUSPENDED if the website is suspended.
func (db *DB) Authenticate(
	ctx context.Context, session app.SessionID, user app.UserID, store app.StoreID,
) (app.Principal, error) {
	p := app.Principal{Realm: app.RealmTenant, SessionID: session, UserID: user, StoreID: store}
	if store == "" {
		p.Realm = app.RealmPlatform
	}
	var suspended bool
	err := db.lookups.System().DB.QueryRowContext(ctx, `SELECT s.created_at, s.proven_at, u.otp_enabled_at IS NOT NULL,
			coalesce(m.role, ''), coalesce(st.website_id, ''),
			w.suspended_at IS NOT NULL, coalesce(live.require_otp, st.require_otp, false),
			st.sandbox_of IS NOT NULL, coalesce(st.staff_may, '{}'),
			coalesce(v.id, ''), coalesce(v.code, ''), coalesce(v.locale, ''), coalesce(v.currency, ''),
			coalesce(v.is_default, false)
		FROM sessions s
		JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
		LEFT JOIN memberships m ON m.user_id = u.id AND m.store_id = $3
		LEFT JOIN stores st ON st.id = m.store_id
		LEFT JOIN stores live ON live.id = st.sandbox_of
		LEFT JOIN websites w ON w.id = st.website_id
		LEFT JOIN store_views v ON v.store_id = m.store_id
			AND CASE WHEN s.active_store_id = m.store_id THEN v.id = s.active_view_id ELSE v.is_default END
		WHERE s.id = $1 AND s.user_id = $2 AND s.ended_at IS NULL
			AND CASE WHEN $3 = '' THEN u.platform_role IS NOT NULL ELSE m.role IS NOT NULL END`, session, user, store).
		Scan(&p.LoggedInAt, &p.ProvenAt, &p.OTP, &p.Role, &p.WebsiteID, &suspended, &p.RequireOTP, &p.Sandbox,
			pgdialect.Array(&p.StaffMay), &p.View.ID, &p.View.Code, &p.View.Locale, &p.View.Currency,
			&p.View.IsDefault)
	return authenticated(p, suspended, err)
}

// authenticated returns the principal that a query has found, or the error of its absence. suspended means that the
// website is suspended.
func authenticated(p app.Principal, suspended bool, err error) (app.Principal, error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return app.Principal{}, sessionEnded()
	case err == nil && suspended:
		return app.Principal{}, app.WebsiteSuspended()
	}
	return p, pg.Classify(err)
}

// Me returns the user and, in the tenant realm, the active store.
func (db *DB) Me(ctx context.Context, p app.Principal) (app.User, *app.StoreContext, error) {
	var user app.User
	var store app.StoreContext
	err := db.pg.System().NewRaw(`SELECT u.id, u.email, u.name,
			coalesce(s.id, ''), coalesce(s.name, ''), coalesce(s.country_code, ''), coalesce(s.timezone, '')
		FROM users u LEFT JOIN stores s ON s.id = ? WHERE u.id = ?`, p.StoreID, p.UserID).
		Scan(ctx, &user.ID, &user.Email, &user.Name, &store.StoreID, &store.StoreName, &store.CountryCode,
			&store.Timezone)
	if err != nil || store.StoreID == "" {
		return user, nil, pg.Classify(err)
	}
	store.WebsiteID, store.Role, store.Locale, store.Currency = p.WebsiteID, p.Role, p.View.Locale, p.View.Currency
	return user, &store, nil
}
