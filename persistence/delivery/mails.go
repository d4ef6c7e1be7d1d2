package delivery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
)

// Reasons of an obsolete mail. Workflow histories contain them, therefore they contain no names.
const (
	obsoleteInvitation = "the invitation has been accepted, has been replaced or has ended"
	obsoleteReset      = "the link has ended, or the website has been suspended"
	obsoleteNotice     = "the customer has been erased, or the website has been suspended"
	obsoleteRecipient  = "the recipient is no longer an OWNER or ADMIN of the store"
	obsoleteWebhook    = "the webhook has been deleted, activated or deactivated since"
)

// managesWebhooks is the condition that a member of a store gets its mails about webhooks.
const managesWebhooks = "role IN ('OWNER', 'ADMIN')"

// Mails reports whether mails are enqueued, which requires a mail server.
func (q *Queue) Mails() bool { return q.mails }

// enqueueMail enqueues a mail about a webhook for OWNERs and ADMINs of the store. kind is MailWebhookWarning or
// MailWebhookDeactivated. tx may have either role. Without a mail server it does nothing.
func (q *Queue) enqueueMail(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind,
	subject app.SubscriptionID, details app.FailureStreak,
) error {
	if !q.mails {
		return nil
	}
	return enqueueMails(ctx, tx, now, store, kind, string(subject), details, managesWebhooks)
}

// enqueueMails enqueues a notice for members of a store that meet a condition, see noticeRecipients.
func enqueueMails(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind, subject string, details any,
	condition string,
) error {
	recipients, err := noticeRecipients(ctx, tx, now, store, kind, condition)
	if err != nil {
		return err
	}
	ids := make([]string, len(recipients))
	for i := range recipients {
		ids[i] = string(app.NewID[app.MailID](now))
	}
	_, err = tx.NewRaw(`INSERT INTO mails
			(id, store_id, queue, kind, subject, recipient, details, lease_until, created_at)
		SELECT m.id, ?0, store_queue(?0), ?1, ?2, m.recipient, ?3, ?4, ?4
		FROM unnest(?5::text[], ?6::text[]) AS m (id, recipient)`,
		store, kind, subject, details, app.At(now).Time, pgdialect.Array(ids), pgdialect.Array(recipients)).Exec(ctx)
	if err != nil {
		return err
	}
	return enqueueJobs(ctx, tx, now, store, app.JobMail, kind.Urgent(), ids)
}

// noticeRecipients returns the recipients of a notice of a kind: the first app.NoticeRecipients members of a store that
// meet a condition, by role and by age. It omits a member for whom the store has enqueued as many mails of the kind in
// the last hour as one address may get: no more would be sent. Both bound the mails and workflows of a store, however
// many managers it has and however often it causes notices. The budgets apply in addition when a mail is sent.
func noticeRecipients(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind, condition string,
) (recipients []string, err error) {
	err = tx.NewRaw(`SELECT user_id FROM (
			SELECT user_id FROM memberships WHERE store_id = ?0 AND `+condition+`
			ORDER BY CASE role WHEN 'OWNER' THEN 0 WHEN 'ADMIN' THEN 1 ELSE 2 END, created_at, user_id LIMIT ?1) m
		WHERE (SELECT count(*) FROM (SELECT FROM mails WHERE store_id = ?0 AND recipient = m.user_id AND kind = ?2
			AND created_at > ?3 LIMIT ?4) mailed) < ?4
		ORDER BY user_id`,
		store, app.NoticeRecipients, kind, app.At(now).Time.Add(-time.Hour), kind.PerAddress()).Scan(ctx, &recipients)
	return recipients, err
}

// EnqueueInvitationMail enqueues the mail of an invitation. It stores the sealed token until the mail
// has ended. The mail belongs to the first store of the invitation. Without a mail server it does
// nothing.
func (q *Queue) EnqueueInvitationMail(ctx context.Context, tx bun.Tx, now time.Time, invitation app.Invitation,
	token app.Secret,
) error {
	if !q.mails {
		return nil
	}
	id, store := app.NewID[app.MailID](now), invitation.StoreIDs[0]
	_, err := tx.NewRaw(`INSERT INTO mails (id, store_id, queue, kind, subject, details, secret, lease_until,
			created_at)
		VALUES (?0, ?1, store_queue(?1), ?2, ?3, '{}', ?4, ?5, ?5)`,
		id, store, app.MailInvitation, invitation.ID, q.sealer.Seal(token, string(id)), app.At(now).Time).Exec(ctx)
	if err != nil {
		return err
	}
	return enqueueMailJob(ctx, tx, now, store, app.MailInvitation, id)
}

// EnqueueSealedMail enqueues a mail with a secret, which is stored sealed until the mail has ended: the token of a link
// that resets a password or confirms a new email, or the former address of a customer. kind is MailPasswordReset,
// MailCustomerPasswordReset, MailCustomerEmailChange or MailCustomerEmailNotice. Without a mail server it does nothing.
func (q *Queue) EnqueueSealedMail(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, kind app.MailKind,
	subject string, secret app.Secret,
) error {
	if !q.mails {
		return nil
	}
	id := app.NewID[app.MailID](now)
	_, err := tx.Tx.ExecContext(ctx, `INSERT INTO mails
			(id, store_id, queue, kind, subject, details, secret, lease_until, created_at)
		VALUES ($1, $2, store_queue($2), $3, $4, '{}', $5, $6, $6)`,
		id, store, kind, subject, q.sealer.Seal(secret, string(id)), app.At(now).Time)
	if err != nil {
		return err
	}
	return enqueueMailJob(ctx, tx, now, store, kind, id)
}

// mailRow holds the columns of the table mails that ClaimMail reads.
type mailRow struct {
	Kind       app.MailKind
	Status     app.MailStatus
	Reason     string
	Subject    string
	Recipient  app.UserID
	Details    json.RawMessage
	Secret     []byte
	LeaseUntil time.Time
	Claimed    bool // an earlier call claimed it
}

// ClaimMail claims a mail and returns it with its content. Until the lease expires, other calls return
// CONFLICT. An ended mail has no content. A mail that has become obsolete, and one for which a budget is
// used up, ends in this call. It returns NOT_FOUND for an unknown mail.
func (q *Queue) ClaimMail(ctx context.Context, now time.Time, lease time.Duration, store app.StoreID,
	id app.MailID,
) (app.Mail, error) {
	var mail app.Mail
	err := q.deadlines.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		var row mailRow
		err := tx.NewRaw(`SELECT kind, status, reason, subject, coalesce(recipient, '') AS recipient, details,
				secret, lease_until, lease_until > created_at AS claimed
			FROM mails WHERE store_id = ? AND id = ? FOR UPDATE`, store, id).Scan(ctx, &row)
		if err != nil {
			return err
		}
		mail = app.Mail{ID: id, Kind: row.Kind, Status: row.Status, Reason: row.Reason}
		if row.Status != app.MailQueued {
			return nil
		}
		if row.LeaseUntil.After(now) {
			return app.Errorf(app.CodeConflict, "another worker is sending the mail")
		}
		switch row.Kind {
		case app.MailInvitation:
			err = q.loadInvitationMail(ctx, tx, now, row, &mail)
		case app.MailPasswordReset, app.MailCustomerPasswordReset, app.MailCustomerEmailChange:
			err = q.loadResetMail(ctx, tx, now, store, row, &mail)
		case app.MailCustomerEmailNotice:
			err = q.loadEmailNotice(ctx, tx, store, row, &mail)
		case app.MailOrderReminder, app.MailOrderCancelled:
			err = loadOrderMail(ctx, tx, store, row, &mail)
		default:
			err = loadWebhookMail(ctx, tx, store, row, &mail)
		}
		if err == nil && mail.Status == app.MailQueued && !row.Claimed {
			err = q.countMail(ctx, tx, store, &mail)
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

// loadInvitationMail adds the content to a mail whose invitation can still be accepted with the token of the
// mail. Otherwise the mail becomes obsolete. A replaced invitation has another id, and an invitation that was
// sent again has another token.
func (q *Queue) loadInvitationMail(ctx context.Context, tx bun.Tx, now time.Time, row mailRow, mail *app.Mail) error {
	var in app.InvitationMail
	var hash []byte
	err := tx.NewRaw(`SELECT i.name, i.email, i.role, i.expires_at, i.token_hash, u.name, w.name,
			array(SELECT s.name FROM stores s WHERE s.id = ANY (i.store_ids) ORDER BY s.created_at, s.id)
		FROM invitations i JOIN users u ON u.id = i.invited_by JOIN websites w ON w.id = i.website_id
		WHERE i.id = ? AND i.accepted_at IS NULL AND i.expires_at > ?`, row.Subject, now).
		Scan(ctx, &mail.Name, &mail.Email, &in.Role, &in.ExpiresAt.Time, &hash, &in.Inviter, &in.Website,
			pgdialect.Array(&in.Stores))
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteInvitation
		return nil
	}
	if err != nil {
		return err
	}
	if in.Token, err = q.sealer.Open(row.Secret, string(mail.ID)); err != nil {
		return err
	}
	if sent := sha256.Sum256([]byte(in.Token.Reveal())); !bytes.Equal(hash, sent[:]) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteInvitation
		return nil
	}
	in.ExpiresAt = app.At(in.ExpiresAt.Time)
	mail.Invitation = &in
	return nil
}

// resetMails select the recipient and the website of a mail whose link $1 is valid at $2. $3 is the store of the mail.
// A mail to a user names a website that is not suspended; without one, and without a platform role, it is not sent.
var resetMails = map[app.MailKind]string{
	app.MailPasswordReset: `SELECT u.name, u.email, r.expires_at,
			CASE WHEN u.platform_role IS NULL THEN site.name ELSE '' END
		FROM password_resets r JOIN users u ON u.id = r.user_id LEFT JOIN LATERAL (
			SELECT w.name FROM memberships m JOIN stores s ON s.id = m.store_id JOIN websites w ON w.id = s.website_id
			WHERE m.user_id = u.id AND w.suspended_at IS NULL ORDER BY s.id = $3 DESC, s.created_at, s.id LIMIT 1
		) site ON true
		WHERE r.id = $1 AND r.expires_at > $2 AND u.disabled_at IS NULL
			AND (u.platform_role IS NOT NULL OR site.name IS NOT NULL)`,
	app.MailCustomerPasswordReset: `SELECT trim(c.first_name || ' ' || c.last_name), c.email, r.expires_at, w.name
		FROM customer_password_resets r JOIN customers c ON c.store_id = r.store_id AND c.id = r.customer_id
			JOIN stores s ON s.id = r.store_id JOIN websites w ON w.id = s.website_id AND w.suspended_at IS NULL
		WHERE r.id = $1 AND r.expires_at > $2 AND c.disabled_at IS NULL AND r.store_id = $3`,
	// Without a name: the owner of the address may be another person, and must not read text of the customer's choice.
	app.MailCustomerEmailChange: `SELECT '', r.email, r.expires_at, w.name
		FROM customer_email_changes r JOIN customers c ON c.store_id = r.store_id AND c.id = r.customer_id
			JOIN stores s ON s.id = r.store_id JOIN websites w ON w.id = s.website_id AND w.suspended_at IS NULL
		WHERE r.id = $1 AND r.expires_at > $2 AND c.disabled_at IS NULL AND r.store_id = $3`,
}

// loadResetMail adds the content to a mail whose link is still valid. Otherwise, or if the website has been suspended,
// the mail becomes obsolete.
func (q *Queue) loadResetMail(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, row mailRow, mail *app.Mail,
) error {
	var in app.ResetMail
	err := tx.Tx.QueryRowContext(ctx, resetMails[row.Kind], row.Subject, now, store).
		Scan(&mail.Name, &mail.Email, &in.ExpiresAt.Time, &in.Website)
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteReset
		return nil
	}
	if err != nil {
		return err
	}
	in.ExpiresAt = app.At(in.ExpiresAt.Time)
	mail.Reset = &in
	in.Token, err = q.sealer.Open(row.Secret, string(mail.ID))
	return err
}

// loadEmailNotice adds the content to a mail to the former address of a customer. If the customer is erased or the
// website has been suspended, the mail becomes obsolete.
func (q *Queue) loadEmailNotice(
	ctx context.Context, tx bun.Tx, store app.StoreID, row mailRow, mail *app.Mail,
) error {
	var notice app.EmailNotice
	err := tx.Tx.QueryRowContext(ctx, `SELECT trim(c.first_name || ' ' || c.last_name), w.name
		FROM customers c JOIN stores s ON s.id = c.store_id JOIN websites w ON w.id = s.website_id
		WHERE c.store_id = $1 AND c.id = $2 AND c.erased_at IS NULL AND w.suspended_at IS NULL`, store, row.Subject).
		Scan(&mail.Name, &notice.Website)
	if errors.Is(err, sql.ErrNoRows) {
		mail.Status, mail.Reason = app.MailObsolete, obsoleteNotice
		return nil
	}
	if err != nil {
		return err
	}
	mail.Notice = &notice
	address, err := q.sealer.Open(row.Secret, string(mail.ID))
	mail.Email = address.Reveal()
	return err
}

// loadWebhookMail adds the content to a mail about a webhook that is still in the reported state.
// Otherwise the mail becomes obsolete.
func loadWebhookMail(ctx context.Context, tx bun.Tx, store app.StoreID, row mailRow, mail *app.Mail) error {
	webhook := app.WebhookMail{ID: app.SubscriptionID(row.Subject)}
	if err := json.Unmarshal(row.Details, &webhook.FailureStreak); err != nil {
		return err
	}
	err := tx.NewRaw(`SELECT u.name, u.email FROM memberships m JOIN users u ON u.id = m.user_id
		WHERE m.store_id = ? AND m.user_id = ? AND m.`+managesWebhooks+` AND u.disabled_at IS NULL`,
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

// EndMail ends a mail and erases its secret. An ended mail stays as it is.
func (q *Queue) EndMail(ctx context.Context, now time.Time, store app.StoreID, id app.MailID, status app.MailStatus,
	reason string,
) error {
	return q.deadlines.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
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
