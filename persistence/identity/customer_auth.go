package identity

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// NewCustomer is a customer to register. PasswordHash is an encoded Argon2id hash.
type NewCustomer struct {
	Email        string
	FirstName    string
	LastName     string
	Phone        string // "" = none
	PasswordHash string
}

// CustomerSession is a new session of a customer.
type CustomerSession struct {
	ID             app.SessionID
	RefreshCounter int64
	Customer       app.Customer
}

// CheckStore returns NOT_FOUND if the store does not exist, and WEBSITE_SUSPENDED if its website is suspended.
func (db *DB) CheckStore(ctx context.Context, store app.StoreID) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return requireOpenStore(ctx, tx, store)
	})
}

// RegisterCustomer creates a registered customer, emits customer.created and starts a session. It
// returns NOT_FOUND if the store does not exist, WEBSITE_SUSPENDED if its website is suspended, and
// EMAIL_TAKEN if a registered customer of the store has this email, regardless of case. A guest with
// the same email stays a separate customer.
func (db *DB) RegisterCustomer(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, in NewCustomer, ttl time.Duration,
) (CustomerSession, error) {
	now = app.At(now).Time
	var session CustomerSession
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if err := requireOpenStore(ctx, tx, store); err != nil {
			return err
		}
		customer, err := insertCustomer(ctx, tx, now, store, in, false)
		if pg.IsDuplicate(err) {
			return app.Errorf(app.CodeEmailTaken, "a customer with this email is already registered; log in instead")
		}
		if err != nil {
			return err
		}
		session, err = beginCustomerSession(ctx, tx, now, store, by, customer, ttl)
		return err
	})
	return session, err
}

// requireOpenStore returns NOT_FOUND if the store does not exist, and WEBSITE_SUSPENDED if its website is
// suspended.
func requireOpenStore(ctx context.Context, tx bun.Tx, store app.StoreID) error {
	var suspended bool
	err := tx.NewRaw(`SELECT website_suspended(website_id) FROM stores WHERE id = ?`, store).Scan(ctx, &suspended)
	return storeError(err, suspended)
}

// storeError returns the error of a request that names a store: NOT_FOUND if no row was found, WEBSITE_SUSPENDED if
// its website is suspended, otherwise the classified error of the query.
func storeError(err error, suspended bool) error {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return app.MemberError(app.CodeNotFound, "storeId", "is not the id of a store")
	case err == nil && suspended:
		return app.WebsiteSuspended()
	}
	return pg.Classify(err)
}

// insertCustomer inserts a registered customer and emits customer.created. proven reports whether a
// provider has vouched for the email.
func insertCustomer(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, in NewCustomer, proven bool,
) (app.Customer, error) {
	customer := app.Customer{
		ID: app.NewID[app.CustomerID](now), StoreID: store, Kind: app.CustomerRegistered, Email: in.Email,
		FirstName: in.FirstName, LastName: in.LastName, Phone: in.Phone, Metadata: map[string]string{}, Version: 1,
		CreatedAt: app.At(now),
		UpdatedAt: app.At(now),
	}
	day, err := BusinessDate(ctx, tx, store, now)
	if err != nil {
		return customer, err
	}
	_, err = tx.NewRaw(`INSERT INTO customers (id, store_id, kind, email, first_name, last_name, phone,
			password_hash, email_proven, business_date, created_at, updated_at)
		VALUES (?, ?, 'registered', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		customer.ID, store, in.Email, in.FirstName, in.LastName, in.Phone, in.PasswordHash, proven, day, now, now).
		Exec(ctx)
	if err != nil {
		return customer, err
	}
	return customer, delivery.Emit(ctx, tx, now, store, app.EventCustomerCreated, customer)
}

// beginCustomerSession starts a session and records the login.
func beginCustomerSession(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, customer app.Customer,
	ttl time.Duration,
) (CustomerSession, error) {
	session := CustomerSession{ID: app.NewID[app.SessionID](now), Customer: customer}
	_, err := tx.Tx.ExecContext(ctx, `INSERT INTO customer_sessions
			(id, store_id, customer_id, created_at, expires_at, address, user_agent)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		session.ID, store, customer.ID, now, now.Add(ttl), by.Address, by.UserAgent)
	if err != nil {
		return session, err
	}
	return session, pg.Audit(ctx, tx, now, store, by.AsCustomer(customer.ID), app.AuditLoginSucceeded,
		string(session.ID), nil)
}

// CustomerLoginFailed records a failed login of a customer and its reason in the store's audit trail. It records
// nothing for an unknown customer (""). If the customer has been erased since the login began, the entry contains the
// customer's id instead of the client's address.
func (db *DB) CustomerLoginFailed(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, customer app.CustomerID,
	reason app.LoginFault,
) error {
	if customer == "" {
		return nil
	}
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var erased bool
		err := tx.Tx.QueryRowContext(ctx, `SELECT erased_at IS NOT NULL FROM customers
			WHERE store_id = $1 AND id = $2 FOR SHARE`, store, customer).Scan(&erased)
		if err != nil {
			return err
		}
		if erased {
			by.Address = string(customer)
		}
		return pg.Audit(ctx, tx, now, store, by.Unknown(app.RealmCustomer), app.AuditLoginFailed, string(customer),
			map[string]any{"reason": reason})
	})
}

// CustomerLogin is the stored data with which a login of a customer is checked.
type CustomerLogin struct {
	Customer     app.Customer
	PasswordHash string // "" = no password, only social login
	Disabled     bool

	emailProven bool
}

// CustomerLoginByEmail returns the store's registered customer with an email, regardless of case, also
// if the website is suspended. It returns NOT_FOUND if there is no such customer.
func (db *DB) CustomerLoginByEmail(ctx context.Context, store app.StoreID, email string) (CustomerLogin, error) {
	var login CustomerLogin
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		login, err = scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c WHERE ?`, loginColumns,
			registeredAs(store, email)))
		return err
	})
	return login, err
}

// loginColumns are the columns of customers c that scanLogin reads.
const loginColumns = bun.Safe(`c.id, c.email, c.first_name, c.last_name, c.phone, c.loyalty_points, c.total_orders,
	c.store_id, c.kind, c.external_id, c.metadata, c.version, c.created_at, c.updated_at,
	c.password_hash, c.email_proven, c.disabled_at IS NOT NULL`)

func scanLogin(ctx context.Context, query *bun.RawQuery) (CustomerLogin, error) {
	var login CustomerLogin
	var created, updated time.Time
	var metadata []byte
	c := &login.Customer
	err := query.Scan(ctx, &c.ID, &c.Email, &c.FirstName, &c.LastName, &c.Phone, &c.LoyaltyPoints, &c.TotalOrders,
		&c.StoreID, &c.Kind, &c.ExternalID, &metadata, &c.Version, &created, &updated, &login.PasswordHash,
		&login.emailProven, &login.Disabled)
	if err != nil {
		return login, err
	}
	c.CreatedAt, c.UpdatedAt = app.At(created), app.At(updated)
	return login, json.Unmarshal(metadata, &c.Metadata)
}

// registeredAs is the condition that c is the store's registered customer with an email.
func registeredAs(store app.StoreID, email string) schema.QueryWithArgs {
	return bun.SafeQuery(`c.store_id = ? AND c.kind = 'registered' AND lower(c.email) = ? AND c.email <> ''`,
		store, app.NormalEmail(email))
}

// StartCustomerSession starts a session of a customer whose password has been verified. If fresh is
// not "", it replaces the password hash. It returns INVALID_CREDENTIALS if the stored hash is no
// longer the verified one, or the customer has been disabled, and WEBSITE_SUSPENDED if the store's
// website is suspended.
func (db *DB) StartCustomerSession(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, login CustomerLogin, fresh string,
	ttl time.Duration,
) (CustomerSession, error) {
	now = app.At(now).Time
	if fresh == "" {
		fresh = login.PasswordHash
	}
	var session CustomerSession
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var hash string
		var usable bool
		err := tx.NewRaw(`SELECT password_hash, disabled_at IS NULL
			FROM customers WHERE store_id = ? AND id = ? FOR UPDATE`, store, login.Customer.ID).
			Scan(ctx, &hash, &usable)
		if err != nil {
			return err
		}
		if hash != login.PasswordHash || !usable {
			return app.Errorf(app.CodeInvalidCredentials, "the password has changed; log in with the new password")
		}
		if err := requireOpenStore(ctx, tx, store); err != nil {
			return err
		}
		if fresh != hash {
			_, err := tx.NewRaw(`UPDATE customers SET password_hash = ? WHERE store_id = ? AND id = ?`, fresh, store,
				login.Customer.ID).Exec(ctx)
			if err != nil {
				return err
			}
		}
		session, err = beginCustomerSession(ctx, tx, now, store, by, login.Customer, ttl)
		return err
	})
	return session, err
}

// AuthenticateCustomer returns the principal of a customer's token in one query. It returns
// TOKEN_REVOKED if the session has ended or the customer is disabled, and WEBSITE_SUSPENDED if the
// website is suspended.
func (db *DB) AuthenticateCustomer(
	ctx context.Context, session app.SessionID, customer app.CustomerID, store app.StoreID,
) (app.Principal, error) {
	p := app.Principal{Realm: app.RealmCustomer, SessionID: session, CustomerID: customer, StoreID: store}
	var suspended bool
	err := db.lookups.System().DB.QueryRowContext(ctx, `SELECT s.created_at, st.website_id, w.suspended_at IS NOT NULL,
			v.id, v.code, v.locale, v.currency, v.is_default
		FROM customer_sessions s
		JOIN customers c ON c.id = s.customer_id AND c.store_id = s.store_id AND c.disabled_at IS NULL
		JOIN stores st ON st.id = s.store_id
		JOIN websites w ON w.id = st.website_id
		JOIN store_views v ON v.store_id = s.store_id AND v.is_default
		WHERE s.id = $1 AND s.customer_id = $2 AND s.store_id = $3 AND s.ended_at IS NULL`, session, customer, store).
		Scan(&p.LoggedInAt, &p.WebsiteID, &suspended, &p.View.ID, &p.View.Code, &p.View.Locale, &p.View.Currency,
			&p.View.IsDefault)
	return authenticated(p, suspended, err)
}

// EndCustomerSession ends the session of a logged-in customer and records the logout. An ended session stays as it is.
func (db *DB) EndCustomerSession(ctx context.Context, now time.Time, by app.Actor, p app.Principal) error {
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		result, err := tx.NewRaw(`UPDATE customer_sessions SET ended_at = ?, end_reason = ?
			WHERE store_id = ? AND customer_id = ? AND id = ? AND ended_at IS NULL`,
			now, app.EndedByLogout, p.StoreID, p.CustomerID, p.SessionID).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); n == 0 || err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditLogout, string(p.SessionID), nil)
	})
}

// CustomerRefreshed is the result of [DB.RefreshCustomer]. Unless Decision is RefreshRotate or
// RefreshRepeat, only Decision and CustomerID have a meaning.
type CustomerRefreshed struct {
	Decision       app.RefreshDecision
	CustomerID     app.CustomerID // "" if there is no such session
	Email          string
	RefreshCounter int64 // of the token to issue
	StoreID        app.StoreID
	CreatedAt      time.Time // of the session
}

// RefreshCustomer is [DB.Refresh] for a customer's session. It locks the customer first and the
// session second, in the same order as the end of all sessions of a customer. page, if not "", is the
// website of the requesting page; a customer of another website gets CROSS_ORIGIN, and the session
// stays as it is.
func (db *DB) RefreshCustomer(
	ctx context.Context, now time.Time, by app.Actor, session app.SessionID, counter int64, page app.WebsiteID,
	rules app.RefreshRules,
) (CustomerRefreshed, error) {
	var r CustomerRefreshed
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		r = CustomerRefreshed{}
		state, err := r.lock(ctx, tx, session, page)
		if errors.Is(err, sql.ErrNoRows) {
			r = CustomerRefreshed{Decision: app.RefreshRevoked}
			return nil
		}
		if err != nil {
			return err
		}
		r.CreatedAt = state.CreatedAt
		r.Decision = app.DecideRefresh(state, counter, now, rules)
		r.RefreshCounter, err = customerSessions(r.StoreID).applyDecision(ctx, tx, r.Decision, session,
			string(r.CustomerID), state.Counter, now, rules)
		if err == nil && r.Decision == app.RefreshReused {
			err = pg.Audit(ctx, tx, now, r.StoreID, by.Unknown(app.RealmCustomer), app.AuditSessionReused,
				string(r.CustomerID),
				map[string]any{"sessionId": session})
		}
		return err
	})
	return r, err
}

// lock locks a customer and one of its sessions and reads both. The state is barred if the customer is
// disabled.
func (r *CustomerRefreshed) lock(
	ctx context.Context, tx bun.Tx, session app.SessionID, page app.WebsiteID,
) (app.SessionState, error) {
	var state app.SessionState
	var website app.WebsiteID
	err := tx.NewRaw(`SELECT c.id, c.email, c.store_id, w.id, c.disabled_at IS NOT NULL, w.suspended_at IS NOT NULL
		FROM customers c JOIN stores st ON st.id = c.store_id JOIN websites w ON w.id = st.website_id
		WHERE c.id = (SELECT customer_id FROM customer_sessions WHERE id = ?) FOR UPDATE OF c`, session).
		Scan(ctx, &r.CustomerID, &r.Email, &r.StoreID, &website, &state.Barred, &state.Suspended)
	if err != nil {
		return state, err
	}
	if page != "" && page != website {
		return state, app.Errorf(app.CodeCrossOrigin, "pages of another site cannot call this operation")
	}
	var rotated sql.NullTime
	err = tx.NewRaw(`SELECT refresh_counter, rotated_at, created_at, expires_at, ended_at IS NOT NULL
		FROM customer_sessions WHERE store_id = ? AND id = ? FOR UPDATE`, r.StoreID, session).
		Scan(ctx, &state.Counter, &rotated, &state.CreatedAt, &state.ExpiresAt, &state.Ended)
	state.RotatedAt = rotated.Time
	return state, err
}
