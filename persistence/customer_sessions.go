package persistence

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// NewCustomer is what it takes to register a customer. PasswordHash is encoded Argon2id.
type NewCustomer struct {
	Email        string
	FirstName    string
	LastName     string
	Phone        string // "" = none
	PasswordHash string
}

// CustomerSession is a customer's login that has begun.
type CustomerSession struct {
	ID             app.SessionID
	RefreshCounter int64
	Customer       app.Customer
}

// RegisterCustomer makes a registered customer of a store, tells of it and begins a
// session. A store that is not open is NOT_FOUND; an address with which somebody is registered
// there, in any case, EMAIL_TAKEN. A guest's row of that address stays as it is.
func (db *DB) RegisterCustomer(ctx context.Context, now time.Time, store app.StoreID, in NewCustomer, ttl time.Duration) (CustomerSession, error) {
	now = app.At(now).Time
	var session CustomerSession
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if err := openStore(ctx, tx, store); err != nil {
			return err
		}
		customer, err := insertCustomer(ctx, tx, now, store, in, false)
		if pg.IsDuplicate(err) {
			return app.Errorf(app.CodeEmailTaken, "somebody has registered with this e-mail address")
		}
		if err != nil {
			return err
		}
		session, err = beginCustomerSession(ctx, tx, now, store, customer, ttl)
		return err
	})
	return session, err
}

// openStore returns NOT_FOUND for a store into which no customer can come: there is none of
// that id, or its website is suspended.
func openStore(ctx context.Context, tx bun.Tx, store app.StoreID) error {
	var open bool
	return tx.NewRaw(`SELECT true FROM stores WHERE id = ? AND NOT website_suspended(website_id)`, store).Scan(ctx, &open)
}

// insertCustomer makes a registered customer and tells of it.
func insertCustomer(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, in NewCustomer, proven bool) (app.Customer, error) {
	customer := app.Customer{
		ID: app.NewID[app.CustomerID](now), StoreID: store, Kind: app.CustomerRegistered, Email: in.Email, FirstName: in.FirstName, LastName: in.LastName,
		Phone: in.Phone, Version: 1, CreatedAt: app.At(now), UpdatedAt: app.At(now),
	}
	day, err := businessDate(ctx, tx, store, now)
	if err != nil {
		return customer, err
	}
	_, err = tx.NewRaw(`INSERT INTO customers (id, store_id, kind, email, first_name, last_name, phone, password_hash, email_proven, business_date, created_at, updated_at)
		VALUES (?, ?, 'registered', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		customer.ID, store, in.Email, in.FirstName, in.LastName, in.Phone, in.PasswordHash, proven, day, now, now).Exec(ctx)
	if err != nil {
		return customer, err
	}
	return customer, delivery.Emit(ctx, tx, now, store, app.EventCustomerCreated, customer)
}

func beginCustomerSession(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, customer app.Customer, ttl time.Duration) (CustomerSession, error) {
	session := CustomerSession{ID: app.NewID[app.SessionID](now), Customer: customer}
	_, err := tx.NewRaw(`INSERT INTO customer_sessions (id, store_id, customer_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?)`,
		session.ID, store, customer.ID, now, now.Add(ttl)).Exec(ctx)
	return session, err
}

// CustomerLogin is what a customer's password is checked against.
type CustomerLogin struct {
	Customer     app.Customer
	PasswordHash string // "" = none: only a social login opens the account
	Disabled     bool

	emailProven bool
}

// CustomerLoginByEmail returns the store's registered customer with that e-mail address, in
// any case; NOT_FOUND if there is none, or the website is suspended.
func (db *DB) CustomerLoginByEmail(ctx context.Context, store app.StoreID, email string) (CustomerLogin, error) {
	var login CustomerLogin
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		if err = openStore(ctx, tx, store); err != nil {
			return err
		}
		login, err = scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c WHERE ?`, loginColumns, registeredAs(store, email)))
		return err
	})
	return login, err
}

// loginColumns are what scanLogin reads, of customers c.
const loginColumns = bun.Safe(`c.id, c.email, c.first_name, c.last_name, c.phone, c.loyalty_points, c.total_orders,
	c.store_id, c.kind, c.version, c.created_at, c.updated_at, c.password_hash, c.email_proven, c.disabled_at IS NOT NULL`)

func scanLogin(ctx context.Context, query *bun.RawQuery) (CustomerLogin, error) {
	var login CustomerLogin
	var created, updated time.Time
	c := &login.Customer
	err := query.Scan(ctx, &c.ID, &c.Email, &c.FirstName, &c.LastName, &c.Phone, &c.LoyaltyPoints, &c.TotalOrders,
		&c.StoreID, &c.Kind, &c.Version, &created, &updated, &login.PasswordHash, &login.emailProven, &login.Disabled)
	c.CreatedAt, c.UpdatedAt = app.At(created), app.At(updated)
	return login, err
}

// registeredAs is the condition for the registered customer c of an e-mail address.
func registeredAs(store app.StoreID, email string) schema.QueryWithArgs {
	return bun.SafeQuery(`c.store_id = ? AND c.kind = 'registered' AND lower(c.email) = lower(?) AND c.email <> ''`, store, email)
}

// StartCustomerSession begins a session of a customer whose password was found right.
// fresh, if not "", replaces its hash. When the hash is no longer the one that was checked,
// or the customer was disabled meanwhile, it is INVALID_CREDENTIALS.
func (db *DB) StartCustomerSession(ctx context.Context, now time.Time, store app.StoreID, login CustomerLogin, fresh string, ttl time.Duration) (CustomerSession, error) {
	now = app.At(now).Time
	if fresh == "" {
		fresh = login.PasswordHash
	}
	var session CustomerSession
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var hash string
		var usable bool
		err := tx.NewRaw(`SELECT password_hash, disabled_at IS NULL FROM customers WHERE store_id = ? AND id = ? FOR UPDATE`,
			store, login.Customer.ID).Scan(ctx, &hash, &usable)
		if err != nil {
			return err
		}
		if hash != login.PasswordHash || !usable {
			return app.Errorf(app.CodeInvalidCredentials, "the password has changed meanwhile")
		}
		if fresh != hash {
			_, err := tx.NewRaw(`UPDATE customers SET password_hash = ? WHERE store_id = ? AND id = ?`, fresh, store, login.Customer.ID).Exec(ctx)
			if err != nil {
				return err
			}
		}
		session, err = beginCustomerSession(ctx, tx, now, store, login.Customer, ttl)
		return err
	})
	return session, err
}

// AuthenticateCustomer returns who a customer's token stands for, in one query. A session
// that ended or a disabled customer is TOKEN_REVOKED.
func (db *DB) AuthenticateCustomer(ctx context.Context, session app.SessionID, customer app.CustomerID, store app.StoreID) (app.Principal, error) {
	p := app.Principal{Realm: app.RealmCustomer, SessionID: session, CustomerID: customer, StoreID: store}
	err := db.System().DB.QueryRowContext(ctx, `SELECT s.created_at, st.website_id, v.id, v.code, v.locale, v.currency, v.is_default
		FROM customer_sessions s
		JOIN customers c ON c.id = s.customer_id AND c.store_id = s.store_id AND c.disabled_at IS NULL
		JOIN stores st ON st.id = s.store_id
		JOIN websites w ON w.id = st.website_id AND w.suspended_at IS NULL
		JOIN store_views v ON v.store_id = s.store_id AND v.is_default
		WHERE s.id = $1 AND s.customer_id = $2 AND s.store_id = $3 AND s.ended_at IS NULL`, session, customer, store).
		Scan(&p.LoggedInAt, &p.WebsiteID, &p.View.ID, &p.View.Code, &p.View.Locale, &p.View.Currency, &p.View.IsDefault)
	if errors.Is(err, sql.ErrNoRows) {
		return app.Principal{}, app.Errorf(app.CodeTokenRevoked, "the session has ended; log in again")
	}
	return p, pg.Classify(err)
}

// EndCustomerSession ends a customer's session; one that has ended stays as it is.
func (db *DB) EndCustomerSession(ctx context.Context, now time.Time, store app.StoreID, customer app.CustomerID, session app.SessionID) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`UPDATE customer_sessions SET ended_at = ?, end_reason = ?
			WHERE store_id = ? AND customer_id = ? AND id = ? AND ended_at IS NULL`, now, app.EndedByLogout, store, customer, session).Exec(ctx)
		return err
	})
}

// CustomerRefreshed is what Refreshed is for a customer's session.
type CustomerRefreshed struct {
	Decision       app.RefreshDecision
	CustomerID     app.CustomerID // "" for a session that is not there
	Email          string
	RefreshCounter int64 // of the token to give out
	StoreID        app.StoreID
	CreatedAt      time.Time // of the session
}

// RefreshCustomer is Refresh for a customer's session. It locks the customer first and the
// session second, as whoever ends all of a customer's sessions does. page, if not "", is the
// website whose page asks: for a customer of another it is CROSS_ORIGIN, and nothing happens.
func (db *DB) RefreshCustomer(ctx context.Context, now time.Time, by app.Actor, session app.SessionID, counter int64, page app.WebsiteID, rules app.RefreshRules) (CustomerRefreshed, error) {
	var r CustomerRefreshed
	err := pg.RunTx(ctx, db.System(), func(ctx context.Context, tx bun.Tx) error {
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
		r.RefreshCounter, err = customerSessions.carryOut(ctx, tx, r.Decision, session, string(r.CustomerID), state.Counter, now, rules)
		if err == nil && r.Decision == app.RefreshReused {
			err = pg.Audit(ctx, tx, now, r.StoreID, by.Unknown(app.RealmCustomer), app.AuditSessionReused, string(r.CustomerID),
				map[string]any{"sessionId": session})
		}
		return err
	})
	return r, err
}

// lock locks a session with its customer and reads both. A customer of a suspended website
// is barred.
func (r *CustomerRefreshed) lock(ctx context.Context, tx bun.Tx, session app.SessionID, page app.WebsiteID) (app.SessionState, error) {
	var state app.SessionState
	var website app.WebsiteID
	err := tx.NewRaw(`SELECT c.id, c.email, c.store_id, w.id, c.disabled_at IS NOT NULL OR w.suspended_at IS NOT NULL
		FROM customers c JOIN stores st ON st.id = c.store_id JOIN websites w ON w.id = st.website_id
		WHERE c.id = (SELECT customer_id FROM customer_sessions WHERE id = ?) FOR UPDATE OF c`, session).
		Scan(ctx, &r.CustomerID, &r.Email, &r.StoreID, &website, &state.Barred)
	if err != nil {
		return state, err
	}
	if page != "" && page != website {
		return state, app.Errorf(app.CodeCrossOrigin, "another site's pages may not do this")
	}
	var rotated sql.NullTime
	err = tx.NewRaw(`SELECT refresh_counter, rotated_at, created_at, expires_at, ended_at IS NOT NULL
		FROM customer_sessions WHERE id = ? FOR UPDATE`, session).
		Scan(ctx, &state.Counter, &rotated, &state.CreatedAt, &state.ExpiresAt, &state.Ended)
	state.RotatedAt = rotated.Time
	return state, err
}
