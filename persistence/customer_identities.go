package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// StartSocialSession begins a session of the customer whom an identity opens. An identity
// that is not known yet is linked to the account of its e-mail address if the provider
// vouches for that, else ACCOUNT_LINK_REQUIRED; without such an account it makes one. An
// store that is not open is NOT_FOUND, a disabled customer INVALID_CREDENTIALS, a new identity
// without an address VALIDATION_FAILED.
func (db *DB) StartSocialSession(ctx context.Context, now time.Time, store app.StoreID, who app.SocialIdentity, ttl time.Duration) (CustomerSession, error) {
	now = app.At(now).Time
	var session CustomerSession
	begin := func(ctx context.Context, tx bun.Tx) error {
		if err := openStore(ctx, tx, store); err != nil {
			return err
		}
		customer, err := socialCustomer(ctx, tx, now, store, who)
		if err != nil {
			return err
		}
		session, err = beginCustomerSession(ctx, tx, now, store, customer, ttl)
		return err
	}
	err := db.pg.InStore(ctx, store, begin)
	for range pg.MaxTries { // somebody else has just made the identity or the account
		if !pg.IsDuplicate(err) {
			break
		}
		err = db.pg.InStore(ctx, store, begin)
	}
	return session, err
}

// socialCustomer finds, links or makes the customer of an identity.
func socialCustomer(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, who app.SocialIdentity) (app.Customer, error) {
	known, err := scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customer_identities i JOIN customers c ON c.id = i.customer_id AND c.store_id = i.store_id
		WHERE i.store_id = ? AND i.provider = ? AND i.subject = ? FOR UPDATE OF c, i`, loginColumns, store, who.Provider, who.Subject))
	if app.CodeOf(pg.Classify(err)) != app.CodeNotFound {
		return known.Customer, errorOr(err, known.usable())
	}
	if who.Email == "" {
		return app.Customer{}, app.Invalid("token", "tells no e-mail address, without which no account can be made")
	}
	account, err := scanLogin(ctx, tx.NewRaw(`SELECT ? FROM customers c WHERE ? FOR UPDATE`, loginColumns, registeredAs(store, who.Email)))
	switch {
	case app.CodeOf(pg.Classify(err)) == app.CodeNotFound:
		account.Customer, err = insertCustomer(ctx, tx, now, store, NewCustomer{Email: who.Email, FirstName: who.FirstName, LastName: who.LastName}, who.Proven)
	case err != nil:
	case !who.Proven:
		err = app.Errorf(app.CodeAccountLinkRequired, "there is an account of this e-mail address already; log in to it with its password")
	case account.usable() != nil:
		err = account.usable()
	case !account.emailProven:
		err = claimAccount(ctx, tx, now, store, account.Customer.ID)
	}
	if err != nil {
		return app.Customer{}, err
	}
	_, err = tx.NewRaw(`INSERT INTO customer_identities (store_id, provider, subject, customer_id, created_at) VALUES (?, ?, ?, ?, ?)`,
		store, who.Provider, who.Subject, account.Customer.ID, now).Exec(ctx)
	return account.Customer, err
}

// usable returns why a customer cannot log in.
func (l CustomerLogin) usable() error {
	if l.Disabled {
		return app.Errorf(app.CodeInvalidCredentials, "the customer is disabled")
	}
	return nil
}

// claimAccount gives an account to whom its e-mail address belongs. Until now anybody may
// have made it in that name and waited: the password, the sessions and the other social
// logins from before go.
func claimAccount(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, customer app.CustomerID) error {
	_, err := tx.NewRaw(`WITH sessions AS (
			UPDATE customer_sessions SET ended_at = ?0 WHERE store_id = ?1 AND customer_id = ?2 AND ended_at IS NULL
		), identities AS (
			DELETE FROM customer_identities WHERE store_id = ?1 AND customer_id = ?2
		) UPDATE customers SET password_hash = '', email_proven = true WHERE store_id = ?1 AND id = ?2`,
		now, store, customer).Exec(ctx)
	return err
}
