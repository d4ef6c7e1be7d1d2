package pg

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"
)

// A notification inside a transaction takes a lock that PostgreSQL holds until the commit is on disk. All commits with
// notifications would wait for each other. Therefore notifications are sent after the commit, in a separate transaction
// that does not wait for the disk.

// notice is a notification to send.
type notice struct{ channel, payload string }

// noticesKey is the key of a transaction's *[]notice in its context.
type noticesKey struct{}

// Notify notifies the listeners of a channel, see [DB.Listen], after the transaction of [DB.InStore]
// or [DB.InSystem] that passed ctx is committed. The notifications of one transaction keep their
// order; equal notifications are sent once. A notification is lost if the process dies immediately
// after the commit, or the database is then unreachable. Therefore a listener must also poll for
// changes.
func Notify(ctx context.Context, channel, payload string) error {
	notices, ok := ctx.Value(noticesKey{}).(*[]notice)
	if !ok {
		return errors.New("pg: Notify requires the context of a transaction")
	}
	*notices = append(*notices, notice{channel, payload})
	return nil
}

// notifyTimeout limits a statement that sends notifications.
const notifyTimeout = 5 * time.Second

// newNotifier returns the sender of notifications. One statement sends those of all commits since the previous
// statement.
func newNotifier(pool *bun.DB) *Coalescer[notice] {
	return NewCoalescer(0, notifyTimeout, func(ctx context.Context, notices []notice) {
		var channels, payloads []string
		for _, each := range notices {
			channels, payloads = append(channels, each.channel), append(payloads, each.payload)
		}
		// Listeners poll for changes, so an error is ignored.
		_, _ = pool.DB.ExecContext(ctx, `
			SELECT set_config('synchronous_commit', 'off', true), pg_notify(channel, payload)
			FROM unnest($1::text[], $2::text[]) AS notice (channel, payload)`, channels, payloads)
	})
}
