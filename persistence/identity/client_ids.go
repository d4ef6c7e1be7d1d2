package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ClientIDs returns the client ids at a provider of the website of a store. It returns NOT_FOUND if the store does not
// exist, and WEBSITE_SUSPENDED if its website is suspended.
func (db *DB) ClientIDs(ctx context.Context, store app.StoreID, provider app.Provider) ([]string, error) {
	var suspended bool
	var ids []string
	err := db.pg.System().NewRaw(`SELECT w.suspended_at IS NOT NULL, ARRAY(
			SELECT client_id FROM website_client_ids c WHERE c.website_id = w.id AND c.provider = ?)
		FROM stores s JOIN websites w ON w.id = s.website_id WHERE s.id = ?`, provider, store).
		Scan(ctx, &suspended, pgdialect.Array(&ids))
	return ids, storeError(err, suspended)
}

// ChangeClientIDs replaces the client ids of a website at each provider whose list in wanted is not nil. It returns
// NOT_FOUND if there is no such website, and CONFLICT if another website has one of the ids. The first conflict of a
// website within an hour is recorded, and the error does not name the other website.
func (db *DB) ChangeClientIDs(
	ctx context.Context, now time.Time, by app.Actor, id app.WebsiteID, wanted app.ClientIDs,
) (app.Website, error) {
	var row websiteRow
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		row = websiteRow{}
		if err := lockWebsite(ctx, tx, id, &websiteRow{}); err != nil {
			return err
		}
		if err := replaceClientIDs(ctx, tx, now, by, id, wanted); err != nil {
			return err
		}
		return tx.NewRaw(`SELECT `+websiteColumns+` FROM websites WHERE id = ?`, id).Scan(ctx, &row)
	})
	if taken, ok := errors.AsType[*clientIDsTaken](err); ok {
		unrecorded := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
			key := sha256.Sum256([]byte("refused client ids\x00" + id))
			err := pg.TakeRateLimits(ctx, tx.Tx, time.Hour, Budget{Key: key[:], Most: 1})
			if app.CodeOf(err) == app.CodeRateLimited {
				return nil
			}
			if err != nil {
				return err
			}
			return auditTakenClientIDs(ctx, tx, now, by, id, taken.ids)
		})
		if unrecorded != nil {
			return app.Website{}, unrecorded
		}
	}
	return row.website(), err
}

// clientIDsTaken is the error of a change with client ids of another website, which it does not name.
type clientIDsTaken struct {
	refusal *app.Error
	ids     map[app.Provider][]string
}

// Error returns the text of the error for the caller.
func (e *clientIDsTaken) Error() string { return e.refusal.Error() }

// Unwrap returns the error for the caller.
func (e *clientIDsTaken) Unwrap() error { return e.refusal }

// auditTakenClientIDs records in the platform's trail that a website requested client ids of other websites. The
// details are the owners of the client ids, so a store's trail must not contain them.
func auditTakenClientIDs(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, website app.WebsiteID, taken map[app.Provider][]string,
) error {
	details := map[string]any{}
	for provider, ids := range taken {
		var rows []struct {
			ClientID  string
			WebsiteID app.WebsiteID
		}
		err := tx.NewRaw(`SELECT client_id, website_id FROM website_client_ids
			WHERE provider = ? AND client_id = ANY (?::text[])`, provider, pgdialect.Array(ids)).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		owners := map[string]app.WebsiteID{}
		for _, row := range rows {
			owners[row.ClientID] = row.WebsiteID
		}
		details[string(provider)] = owners
	}
	return pg.AuditPlatform(ctx, tx, now, by, app.AuditClientIDsRefused, string(website), details)
}

// replaceClientIDs replaces the client ids of a locked website at each provider whose list in wanted is not nil, and
// records the differences. It returns a *clientIDsTaken if another website has one of the ids.
func replaceClientIDs(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, website app.WebsiteID, wanted app.ClientIDs,
) error {
	changes, taken := map[string]any{}, map[app.Provider][]string{}
	var details []app.Detail
	for _, provider := range app.Providers {
		ids := *wanted.Of(provider)
		if ids == nil {
			continue
		}
		change, own, err := replaceClientIDsAt(ctx, tx, website, provider, ids)
		if err != nil {
			return err
		}
		var missing []string
		for i, id := range ids {
			if !slices.Contains(own, id) {
				missing = append(missing, id)
				details = append(details, app.Detail{
					Path: fmt.Sprintf("social.%s[%d]", provider, i), Message: "belongs to another website",
				})
			}
		}
		if len(missing) > 0 {
			taken[provider] = missing
		}
		if len(change.Added)+len(change.Removed) > 0 {
			changes[string(provider)] = change
		}
	}
	if len(taken) > 0 {
		return &clientIDsTaken{&app.Error{
			Code: app.CodeConflict, Details: details,
			Message: "a client id belongs to another website; use another one, or ask the platform to move it",
		}, taken}
	}
	if len(changes) == 0 {
		return nil
	}
	return pg.AuditWebsite(ctx, tx, now, website, by, app.AuditClientIDsChanged, changes)
}

// replaceClientIDsAt replaces the client ids of a website at one provider, except for ids of other websites. It returns
// the differences and the ids that the website then has.
func replaceClientIDsAt(
	ctx context.Context, tx bun.Tx, website app.WebsiteID, provider app.Provider, ids []string,
) (change app.ClientIDsDiff, own []string, err error) {
	err = tx.NewRaw(`DELETE FROM website_client_ids
		WHERE website_id = ? AND provider = ? AND client_id <> ALL (?::text[]) RETURNING client_id`,
		website, provider, pgdialect.Array(ids)).Scan(ctx, &change.Removed)
	if err != nil {
		return change, nil, err
	}
	err = tx.NewRaw(`INSERT INTO website_client_ids (provider, client_id, website_id)
		SELECT ?, id, ? FROM unnest(?::text[]) AS id ORDER BY id ON CONFLICT DO NOTHING RETURNING client_id`,
		provider, website, pgdialect.Array(ids)).Scan(ctx, &change.Added)
	if err != nil {
		return change, nil, err
	}
	err = tx.NewRaw(`SELECT client_id FROM website_client_ids WHERE website_id = ? AND provider = ?`,
		website, provider).Scan(ctx, &own)
	return change, own, err
}

// reassignClientIDs removes client ids from all other websites and records it in their trails.
func reassignClientIDs(
	ctx context.Context, tx bun.Tx, now time.Time, by app.Actor, website app.WebsiteID, wanted app.ClientIDs,
) error {
	for _, provider := range app.Providers {
		var removed []struct {
			WebsiteID app.WebsiteID
			ClientID  string
		}
		err := tx.NewRaw(`DELETE FROM website_client_ids WHERE website_id <> ? AND provider = ?
			AND client_id = ANY (?::text[]) RETURNING website_id, client_id`,
			website, provider, pgdialect.Array(*wanted.Of(provider))).Scan(ctx, &removed)
		if err != nil {
			return err
		}
		for _, row := range removed {
			err := pg.AuditWebsite(ctx, tx, now, row.WebsiteID, by, app.AuditClientIDsChanged,
				map[string]any{string(provider): app.ClientIDsDiff{Removed: []string{row.ClientID}}})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
