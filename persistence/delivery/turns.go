package delivery

import (
	"context"
	_ "embed"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// The trigger settle_turns of the table deliveries gives and passes on the turns of resources
// (docs/behaviour.md#ordered-webhooks), in the transaction that queues or ends a delivery.

//go:embed queries/lost_turns.sql
var lostTurnsStatement string

// newTurnNotifier returns the notifier of relays after a delivery has passed on the turn of its resource.
func newTurnNotifier(db *pg.DB, policy GroupPolicy) *pg.Coalescer[struct{}] {
	return pg.NewCoalescer(policy.Pause, policy.Timeout, func(ctx context.Context, _ []struct{}) {
		// Relays poll too, so an error is ignored.
		_, _ = db.System().DB.ExecContext(ctx,
			"SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')", outboxChannel)
	})
}

// turnPassed wakes the relays, because another delivery of a resource may start. The change must be committed.
func (q *Queue) turnPassed() { q.passed.Add(struct{}{}) }

// turnSweep is the position of the next search for lost turns of this process. It is safe for concurrent use.
type turnSweep struct {
	mu     sync.Mutex
	next   time.Time           // of the search
	queue  string              // last queue that was read; "" = start with the first queue
	unread map[string]turnLine // last read resource of queues with unread ones
}

// turnLine is a resource of a subscription.
type turnLine struct {
	subscription app.SubscriptionID
	resource     string
}

// repairTurns gives lost turns again, at most once per Policy.RepairTurns. It reads a bounded number of resources with
// deliveries that are held back, of each website in turn, and continues after them in the next call. Each website has
// its own statement, so that a locked turn of one does not stop the repair of others.
func (q *Queue) repairTurns(ctx context.Context, now time.Time) error {
	s := &q.sweep
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		return nil
	}
	s.next = now.Add(q.policy.RepairTurns)
	lost, err := q.lostTurns(ctx)
	locked := 0
	for _, lines := range lost { // in random order, so that those after a locked one differ each time
		one := q.settleTurns(ctx, lines)
		err = errors.Join(err, one)
		if pg.IsLocked(one) {
			locked++
		} else if one != nil {
			break
		}
		if locked == maxLockedRepairs {
			break
		}
	}
	return err
}

// maxLockedRepairs is the number of websites for whose locked turns a repair waits, so that the claims before it reach
// the relay in time.
const maxLockedRepairs = 2

// settleTurns gives the turns of resources of one queue again.
func (q *Queue) settleTurns(ctx context.Context, lines []turnLine) error {
	var subscriptions []app.SubscriptionID
	var resources []string
	for _, line := range lines {
		subscriptions, resources = append(subscriptions, line.subscription), append(resources, line.resource)
	}
	var released int
	err := q.relay.System().DB.QueryRowContext(ctx, "SELECT settle_turns($1, $2)", subscriptions, resources).
		Scan(&released)
	if err == nil && released > 0 {
		q.turnPassed()
	}
	return err
}

// lostTurns returns resources whose turn is lost, by queue, and advances the position. The caller holds its lock.
func (q *Queue) lostTurns(ctx context.Context) (map[string][]turnLine, error) {
	s := &q.sweep
	queues := slices.Collect(maps.Keys(s.unread))
	var subscriptions []app.SubscriptionID
	var resources []string
	for _, queue := range queues {
		subscriptions = append(subscriptions, s.unread[queue].subscription)
		resources = append(resources, s.unread[queue].resource)
	}
	rows, err := q.relay.System().DB.QueryContext(ctx, lostTurnsStatement, s.queue, q.policy.TurnQueues,
		q.policy.TurnResources, queues, subscriptions, resources)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if s.unread == nil {
		s.unread = map[string]turnLine{}
	}
	lost := map[string][]turnLine{}
	visited := map[string]bool{}
	for rows.Next() {
		var queue string
		var line turnLine
		var cut, isLost bool
		if err := rows.Scan(&s.queue, &queue, &line.subscription, &line.resource, &cut, &isLost); err != nil {
			return nil, err
		}
		if !visited[queue] {
			visited[queue] = true
			delete(s.unread, queue)
		}
		if cut && len(s.unread) < maxPositions {
			s.unread[queue] = line
		}
		if isLost {
			lost[queue] = append(lost[queue], line)
		}
	}
	return lost, rows.Err()
}
