package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// errNewAccount is the result of a social login that would create an account, until a limit has counted it.
var errNewAccount = errors.New("a new account")

// StartSocialSession starts a session for the customer of a social identity and uses up the ID token. For an unknown
// identity, an account with its email decides. If the provider vouches for the email, StartSocialSession links the
// identity to that account; otherwise it returns ACCOUNT_LINK_REQUIRED. If there is no such account, it calls register,
// which counts the registration, and creates the account unless register returns an error.
//
// It returns NOT_FOUND if the store does not exist, WEBSITE_SUSPENDED if its website is suspended, INVALID_CREDENTIALS
// for a disabled customer or a used token, and VALIDATION_FAILED for a new identity without an email. An error about a
// known customer is a [LoginRefused].
func (db *DB) StartSocialSession(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, identity app.SocialIdentity,
	ttl time.Duration, register func(context.Context) error,
) (CustomerSession, error) {
	now = app.At(now).Time
	var session CustomerSession
	counted := false
	begin := func(ctx context.Context, tx bun.Tx) error {
		if err := requireOpenStore(ctx, tx, store); err != nil {
			return err
		}
		if err := useToken(ctx, tx, store, identity.Token); err != nil {
			return refusedToken(ctx, tx, store, identity, err)
		}
		customer, err := socialCustomer(ctx, tx, now, store, by, identity, counted)
		if err != nil {
			return err
		}
		session, err = beginCustomerSession(ctx, tx, now, store, by, customer, ttl)
		return err
	}
	var err error
	for range pg.MaxTries + 2 {
		err = db.pg.InStore(ctx, store, begin)
		switch {
		case errors.Is(err, errNewAccount): // counted between two transactions: none waits for a second connection
			if err := register(ctx); err != nil {
				return session, err
			}
			counted = true
		case !pg.IsDuplicate(err): // otherwise a concurrent request has created the identity or the account
			return session, err
		}
	}
	return session, err
}

// useToken uses up an ID token for the website of a store. It returns INVALID_CREDENTIALS if the token is already used.
// Of two concurrent requests, the second waits for the end of the first.
func useToken(ctx context.Context, tx bun.Tx, store app.StoreID, token app.IDToken) error {
	result, err := tx.Tx.ExecContext(ctx, `INSERT INTO used_id_tokens (website_id, hash, store_id, expires_at)
		SELECT website_id, $2, id, $3 FROM stores WHERE id = $1 ON CONFLICT DO NOTHING`,
		store, token.Hash[:], token.ExpiresAt)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); n == 1 || err != nil {
		return err
	}
	return app.Errorf(app.CodeInvalidCredentials, "the token is already used")
}

// refusedToken returns the error of useToken with the customer of the identity, if there is one.
func refusedToken(
	ctx context.Context, tx bun.Tx, store app.StoreID, identity app.SocialIdentity, refusal error,
) error {
	if app.CodeOf(refusal) != app.CodeInvalidCredentials {
		return refusal
	}
	var customer app.CustomerID
	err := tx.NewRaw(`SELECT customer_id FROM customer_identities WHERE store_id = ? AND provider = ? AND subject = ?`,
		store, identity.Provider, identity.Subject).Scan(ctx, &customer)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return refusal
	case err != nil:
		return err
	}
	return &LoginRefused{refusal, customer, app.FaultToken}
}

// socialCustomer finds, links or creates the customer of a social identity. It returns errNewAccount instead of
// creating an account that is not yet counted.
func socialCustomer(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, identity app.SocialIdentity,
	counted bool,
) (app.Customer, error) {
	known, err := scanLogin(ctx, tx.NewRaw(`SELECT ?
		FROM customer_identities i JOIN customers c ON c.id = i.customer_id AND c.store_id = i.store_id
		WHERE i.store_id = ? AND i.provider = ? AND i.subject = ?
		FOR UPDATE OF c, i`, loginColumns, store, identity.Provider, identity.Subject))
	if app.CodeOf(pg.Classify(err)) != app.CodeNotFound {
		if err == nil {
			err = known.checkLogin()
		}
		return known.Customer, err
	}
	if identity.Email == "" {
		return app.Customer{}, app.Invalid("token", "contains no email, which a new account requires")
	}
	account, err := scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c WHERE ? FOR UPDATE`, loginColumns,
		registeredAs(store, identity.Email)))
	opened := app.CodeOf(pg.Classify(err)) == app.CodeNotFound
	switch {
	case opened && !counted:
		err = errNewAccount
	case opened:
		account.Customer, err = insertCustomer(ctx, tx, now, store,
			NewCustomer{Email: identity.Email, FirstName: identity.FirstName, LastName: identity.LastName},
			identity.Proven)
	case err != nil:
	case !identity.Proven:
		err = linkRequired(account)
	case account.checkLogin() != nil:
		err = account.checkLogin()
	case !account.emailProven:
		account.Customer, err = claimAccount(ctx, tx, now, by, account.Customer, identity)
	}
	if err != nil {
		return app.Customer{}, err
	}
	_, err = tx.NewRaw(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
		VALUES (?, ?, ?, ?, ?)`,
		store, identity.Provider, identity.Subject, account.Customer.ID, now).Exec(ctx)
	if err != nil || opened {
		return account.Customer, err
	}
	return account.Customer, pg.Audit(ctx, tx, now, store, by.AsCustomer(account.Customer.ID), app.AuditIdentityLinked,
		string(account.Customer.ID), map[string]any{"provider": identity.Provider})
}

// LoginRefused is the refusal of a login of a known customer.
type LoginRefused struct {
	error    // an *app.Error
	Customer app.CustomerID
	Fault    app.LoginFault
}

// Unwrap returns the refusal that the client sees.
func (r *LoginRefused) Unwrap() error { return r.error }

// linkRequired returns the ACCOUNT_LINK_REQUIRED of an identity whose email belongs to an account.
func linkRequired(account CustomerLogin) error {
	way := "its password"
	if account.PasswordHash == "" {
		way = "the provider that it is already linked to"
	}
	refusal := app.Errorf(app.CodeAccountLinkRequired, "an account with this email already exists; log in with %s, "+
		"then link this provider with POST /customer-auth/social/link", way)
	return &LoginRefused{refusal, account.Customer.ID, app.FaultUnlinked}
}

// LinkIdentity links a social identity to the account of a logged-in customer and uses up the ID token. login is the
// account whose password has been verified, if it has one. The link proves the account's email if the provider vouches
// for the same email. LinkIdentity returns TOKEN_REVOKED if the session has ended,
// INVALID_CREDENTIALS if the token is used or the password has changed, and CONFLICT if the identity belongs to another
// account. It records a new link.
func (db *DB) LinkIdentity(
	ctx context.Context, now time.Time, p app.Principal, by app.Actor, login CustomerLogin, identity app.SocialIdentity,
) error {
	now = app.At(now).Time
	return db.pg.InStore(ctx, p.StoreID, func(ctx context.Context, tx bun.Tx) error {
		if err := useToken(ctx, tx, p.StoreID, identity.Token); err != nil {
			return err
		}
		// A concurrent claim of the account ends the session: its former holder must not link another identity.
		if err := lockCustomerSession(ctx, tx, p); err != nil {
			return err
		}
		if err := changeVerified(ctx, tx, `UPDATE customers SET password_hash = $1
			WHERE store_id = $4 AND id = $2 AND password_hash = $3`,
			login.PasswordHash, p.CustomerID, login.PasswordHash, p.StoreID); err != nil {
			return err
		}
		added, err := tx.NewRaw(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			p.StoreID, identity.Provider, identity.Subject, p.CustomerID, now).Exec(ctx)
		if err != nil {
			return err
		}
		n, err := added.RowsAffected()
		if err == nil && n == 0 {
			err = ownIdentity(ctx, tx, p, identity)
		}
		if err == nil && identity.Proven {
			_, err = tx.Tx.ExecContext(ctx, `UPDATE customers SET email_proven = true
				WHERE store_id = $1 AND id = $2 AND lower(email) = $3 AND NOT email_proven`,
				p.StoreID, p.CustomerID, app.NormalEmail(identity.Email))
		}
		if err != nil || n == 0 {
			return err
		}
		return pg.Audit(ctx, tx, now, p.StoreID, by, app.AuditIdentityLinked, string(p.CustomerID),
			map[string]any{"provider": identity.Provider})
	})
}

// ownIdentity returns CONFLICT unless an existing identity belongs to the customer.
func ownIdentity(ctx context.Context, tx bun.Tx, p app.Principal, identity app.SocialIdentity) error {
	var owner app.CustomerID
	err := tx.NewRaw(`SELECT customer_id FROM customer_identities
		WHERE store_id = ? AND provider = ? AND subject = ?`, p.StoreID, identity.Provider, identity.Subject).
		Scan(ctx, &owner)
	if err == nil && owner != p.CustomerID {
		err = app.Errorf(app.CodeConflict, "another customer's account is linked to this identity")
	}
	return err
}

// checkLogin returns INVALID_CREDENTIALS if the customer cannot log in.
func (l CustomerLogin) checkLogin() error {
	if l.Disabled {
		refusal := app.Errorf(app.CodeInvalidCredentials, "the customer is disabled")
		return &LoginRefused{refusal, l.Customer.ID, app.FaultDisabled}
	}
	return nil
}

// claimAccount gives a locked account with an unproven email to the owner of that email, with the provider's data. Its
// password and its sessions end.
func claimAccount(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, account app.Customer, identity app.SocialIdentity,
) (app.Customer, error) {
	_, err := tx.Tx.ExecContext(ctx, `UPDATE customers SET password_hash = '' WHERE store_id = $1 AND id = $2`,
		account.StoreID, account.ID)
	if err != nil {
		return account, err
	}
	_, err = customerSessions(account.StoreID).end(ctx, tx, now, string(account.ID), "", app.EndedByClaim)
	if err != nil {
		return account, err
	}
	err = pg.Audit(ctx, tx, now, account.StoreID, by.AsCustomer(account.ID), app.AuditCustomerClaimed,
		string(account.ID), map[string]any{"provider": identity.Provider})
	if err != nil {
		return account, err
	}
	return reassignAccount(ctx, tx, now, account, identity.FirstName, identity.LastName)
}
