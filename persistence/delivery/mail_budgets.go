package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// countMail counts a mail against the budgets of its address and its website. If one is used up, the mail becomes
// obsolete and loses its content. A mail is counted when it is first claimed: only then its address is certain, and
// the response to its cause does not depend on the budgets.
func (q *Queue) countMail(ctx context.Context, tx bun.Tx, store app.StoreID, mail *app.Mail) error {
	var website string
	err := tx.Tx.QueryRowContext(ctx, `SELECT website_id FROM stores WHERE id = $1`, store).Scan(&website)
	if err != nil {
		return err
	}
	err = pg.TakeRateLimits(ctx, tx.Tx, time.Hour, q.mailBudgets(website, mail.Kind, mail.Email)...)
	if app.CodeOf(err) == app.CodeRateLimited {
		*mail = app.Mail{ID: mail.ID, Kind: mail.Kind, Status: app.MailObsolete, Reason: app.ReasonMailBudget}
		return nil
	}
	return err
}

// mailBudgets returns the budgets of a mail. All of them belong to one website, so that no website can use up those of
// another one.
func (q *Queue) mailBudgets(website string, kind app.MailKind, email string) []pg.Budget {
	address := app.NormalEmail(email)
	if kind.Guards() {
		return []pg.Budget{
			{Key: q.sealer.MAC("guard mails", website, string(kind), address), Most: kind.PerAddress()},
		}
	}
	return []pg.Budget{
		{Key: q.sealer.MAC("mails to", website, address), Most: kind.PerAddress()},
		{Key: q.sealer.MAC("mails of", website), Most: app.MailsPerWebsite},
	}
}
