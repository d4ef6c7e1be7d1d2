package delivery

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// The reasons for which a mail is obsolete. They are part of histories, so they contain no names.
const (
	obsoleteInvitation = "the invitation has been accepted, replaced or has expired"
	obsoleteRecipient  = "the recipient is no longer an OWNER or ADMIN of the store"
	obsoleteWebhook    = "the webhook has been deleted, activated or deactivated since"
)

// Mails reports whether mails are enqueued, because there is a mail server.
func (q *Queue) Mails() bool { return q.mails }

// enqueueMail enqueues a mail about a webhook for each OWNER and ADMIN of the store. kind is
// MailWebhookWarning or MailWebhookDeactivated. tx may have either role, if it sees the store.
// Without a mail server it does nothing.
func (q *Queue) enqueueMail(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind,
	subject app.SubscriptionID, details app.WebhookTrouble,
) error {
	if !q.mails {
		return nil
	}
	var recipients []app.UserID
	err := tx.NewRaw(`SELECT user_id FROM memberships WHERE store_id = ? AND role IN ('OWNER', 'ADMIN')
		ORDER BY user_id`, store).Scan(ctx, &recipients)
	if err != nil {
		return err
	}
	for _, recipient := range recipients {
		id := app.NewID[app.MailID](now)
		_, err := tx.NewRaw(`INSERT INTO mails (id, store_id, kind, subject, recipient, details, lease_until, created_at)
			VALUES (?0, ?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
			id, store, kind, subject, recipient, details, app.At(now).Time).Exec(ctx)
		if err != nil {
			return err
		}
		if err := EnqueueJob(ctx, tx, now, store, app.JobMail, string(id)); err != nil {
			return err
		}
	}
	return nil
}

// EnqueueInvitationMail enqueues the mail of an invitation. It stores the token sealed until the mail
// has ended. The mail belongs to the first of the stores. Without a mail server it does nothing.
func (q *Queue) EnqueueInvitationMail(ctx context.Context, tx bun.Tx, now time.Time, invitation app.Invitation,
	token app.Secret,
) error {
	if !q.mails {
		return nil
	}
	id, store := app.NewID[app.MailID](now), invitation.StoreIDs[0]
	_, err := tx.NewRaw(`INSERT INTO mails (id, store_id, kind, subject, details, secret, lease_until, created_at)
		VALUES (?0, ?1, ?2, ?3, '{}', ?4, ?5, ?5)`,
		id, store, app.MailInvitation, invitation.ID, q.sealer.Seal(token, string(id)), app.At(now).Time).Exec(ctx)
	if err != nil {
		return err
	}
	return EnqueueJob(ctx, tx, now, store, app.JobMail, string(id))
}

// mailRow is a mail as its table holds it.
type mailRow struct {
	Kind       app.MailKind
	Status     app.MailStatus
	Reason     string
	Subject    string
	Recipient  app.UserID
	Details    json.RawMessage
	Secret     []byte
	LeaseUntil time.Time
}

// ClaimMail returns a mail of a store with its content. Until the lease expires, other workers get
// CONFLICT. A mail that has ended comes without its content, and so does a mail that this call ends
// because it is obsolete. It returns NOT_FOUND for an unknown mail.
func (q *Queue) ClaimMail(ctx context.Context, now time.Time, lease time.Duration, store app.StoreID,
	id app.MailID,
) (app.Mail, error) {
	var mail app.Mail
	err := pg.RunTx(ctx, q.pg.System(), func(ctx context.Context, tx bun.Tx) error {
		var row mailRow
		err := tx.NewRaw(`SELECT kind, status, reason, subject, coalesce(recipient, '') AS recipient, details,
				secret, lease_until
			FROM mails WHERE store_id = ? AND id = ? FOR UPDATE`, store, id).Scan(ctx, &row)
		if err != nil {
			return err
		}
		mail = app.Mail{ID: id, Kind: row.Kind, Status: row.Status, Reason: row.Reason}
		if row.Status != app.MailQueued {
			return nil
		}
		if row.LeaseUntil.After(now) {
			return app.Errorf(app.CodeConflict, "the mail is being sent")
		}
		if row.Kind == app.MailInvitation {
			err = q.loadInvitationMail(ctx, tx, now, row, &mail)
		} else {
			err = loadWebhookMail(ctx, tx, store, row, &mail)
		}
		if err != nil {
			return err
		}
		if mail.Status == app.MailObsolete {
			return endMail(ctx, tx, now, store, id, mail.Status, mail.Reason)
		}
		_, err = tx.NewRaw(`UPDATE mails SET lease_until = ? WHERE store_id = ? AND id = ?`,
			now.Add(lease), store, id).Exec(ctx)
		return err
	})
	return mail, err
}

// loadInvitationMail adds the content to a mail whose invitation can still be accepted. Otherwise
// the mail becomes obsolete. An invitation that replaces another has another id.
func (q *Queue) loadInvitationMail(ctx context.Context, tx bun.Tx, now time.Time, row mailRow, mail *app.Mail) error {
	var in app.InvitationMail
	err := tx.NewRaw(`SELECT i.name, i.email, i.role, i.expires_at, u.name, w.name,
			array(SELECT s.name FROM stores s WHERE s.id = ANY (i.store_ids) ORDER BY s.created_at, s.id)
		FROM invitations i JOIN users u ON u.id = i.invited_by JOIN websites w ON w.id = i.website_id
		WHERE i.id = ? AND i.accepted_at IS NULL AND i.expires_at > ?`, row.Subject, now).
		Scan(ctx, &mail.Name, &mail.Email, &in.Role, &in.ExpiresAt.Time, &in.Inviter, &in.Website,
			pgdialect.Array(&in.Stores))
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteInvitation
		return nil
	}
	if err != nil {
		return err
	}
	in.ExpiresAt = app.At(in.ExpiresAt.Time)
	mail.Invitation = &in
	in.Token, err = q.sealer.Open(row.Secret, string(mail.ID))
	return err
}

// loadWebhookMail adds the content to a mail about a webhook that is still in the state that the
// mail reports. Otherwise the mail becomes obsolete.
func loadWebhookMail(ctx context.Context, tx bun.Tx, store app.StoreID, row mailRow, mail *app.Mail) error {
	webhook := app.WebhookMail{ID: app.SubscriptionID(row.Subject)}
	if err := json.Unmarshal(row.Details, &webhook.WebhookTrouble); err != nil {
		return err
	}
	err := tx.NewRaw(`SELECT u.name, u.email FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.store_id = ? AND m.user_id = ? AND m.role IN ('OWNER', 'ADMIN') AND u.disabled_at IS NULL`,
		store, row.Recipient).
		Scan(ctx, &mail.Name, &mail.Email)
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteRecipient
		return nil
	}
	if err != nil {
		return err
	}
	err = tx.NewRaw(`SELECT s.url, st.name FROM subscriptions s JOIN stores st ON st.id = s.store_id
		WHERE s.store_id = ? AND s.id = ? AND s.deleted_at IS NULL AND s.is_active = ?`,
		store, webhook.ID, row.Kind == app.MailWebhookWarning).
		Scan(ctx, &webhook.URL, &webhook.Store)
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteWebhook
		return nil
	}
	mail.Webhook = &webhook
	return err
}

// EndMail records the end of a mail and erases its secret. A mail that has ended does not change.
func (q *Queue) EndMail(ctx context.Context, now time.Time, store app.StoreID, id app.MailID, status app.MailStatus,
	reason string,
) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return endMail(ctx, tx, now, store, id, status, reason)
	})
}

func endMail(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, id app.MailID, status app.MailStatus,
	reason string,
) error {
	_, err := tx.NewRaw(`UPDATE mails SET status = ?, reason = ?, ended_at = ?, secret = NULL
		WHERE store_id = ? AND id = ? AND ended_at IS NULL`,
		status, reason, app.At(now).Time, store, id).Exec(ctx)
	return err
}
