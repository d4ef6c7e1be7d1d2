package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// The email of a user is proven once a link that was mailed to it has been used. The email of a user who accepted an
// invitation whose link was shown to the inviter is not: the inviter may have accepted it with a stranger's address.
// The first mailed link that resets the password then takes the account over (docs/behaviour.md#proven-emails).

// claimEmail records that such a link proved the email of a locked user, and switches the one-time passwords of the
// user's past off. The caller replaces the password and ends the sessions.
func claimEmail(ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, user app.UserID) error {
	state, err := lockOTP(ctx, tx, user)
	if err != nil {
		return err
	}
	_, err = tx.Tx.ExecContext(ctx, `UPDATE users SET email_proven = true, `+withoutOTP+` WHERE id = $1`, user)
	if err != nil || !state.on {
		return err
	}
	return pg.AuditUser(ctx, tx, now, user, by, app.AuditOTPDisabled, string(user),
		map[string]any{"reason": "email_proven"})
}
