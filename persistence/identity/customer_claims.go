package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// reassignAccount gives a locked account, whose email was never proven before, to the person who has just proven the
// email. Another person may have registered it in advance. Therefore nothing that the former holder entered remains:
// the names are replaced, the phone number, the addresses and a requested change of the email are deleted, and the
// social identities are removed. The caller replaces the password and ends the sessions. reassignAccount emits
// customer.updated if the account changes.
func reassignAccount(
	ctx context.Context, tx bun.Tx, now time.Time, account app.Customer, firstName, lastName string,
) (app.Customer, error) {
	claimed := account
	claimed.FirstName, claimed.LastName, claimed.Phone = firstName, lastName, ""
	_, err := tx.Tx.ExecContext(ctx, `WITH identities AS (
			DELETE FROM customer_identities WHERE store_id = $1 AND customer_id = $2
		) UPDATE customers SET email_proven = true, first_name = $3, last_name = $4, phone = $5
		WHERE store_id = $1 AND id = $2`, account.StoreID, account.ID, firstName, lastName, claimed.Phone)
	if err != nil {
		return claimed, err
	}
	deleted, err := tx.Tx.ExecContext(ctx, `DELETE FROM addresses WHERE store_id = $1 AND customer_id = $2`,
		account.StoreID, account.ID)
	if err != nil {
		return claimed, err
	}
	if err := endEmailChange(ctx, tx, account.StoreID, account.ID); err != nil {
		return claimed, err
	}
	fields := account.Changes(claimed)
	if n, err := deleted.RowsAffected(); err != nil {
		return claimed, err
	} else if n > 0 {
		fields = append(fields, "addresses")
	}
	if len(fields) == 0 {
		return claimed, nil
	}
	return EmitCustomerUpdated(ctx, tx, now, claimed, fields)
}
