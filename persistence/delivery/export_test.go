package delivery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
	"github.com/comanda-dev/comanda/persistence/delivery/schedule"
)

// EnqueueJob enqueues a job in a separate transaction.
func (q *Queue) EnqueueJob(
	ctx context.Context, now time.Time, store app.StoreID, kind app.JobKind, subject string,
) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return EnqueueJob(ctx, tx, now, store, kind, subject)
	})
}

// EnqueueJobs enqueues jobs in a separate transaction.
func (q *Queue) EnqueueJobs(
	ctx context.Context, now time.Time, store app.StoreID, kind app.JobKind, subjects []string,
) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return EnqueueJobs(ctx, tx, now, store, kind, subjects)
	})
}

// EnqueueMail enqueues mails about a webhook in a separate transaction.
func (q *Queue) EnqueueMail(ctx context.Context, now time.Time, store app.StoreID, kind app.MailKind,
	subject app.SubscriptionID, details app.FailureStreak,
) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return q.enqueueMail(ctx, tx, now, store, kind, subject, details)
	})
}

// EnqueueReminder enqueues the mails of a reminder of an order in a separate transaction.
func (q *Queue) EnqueueReminder(ctx context.Context, now time.Time, store app.StoreID, order app.OrderID) error {
	return q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return q.EnqueueOrderMails(ctx, tx, now, store, app.MailOrderReminder, order)
	})
}

// Statement is a statement with its number of arguments.
type Statement struct {
	SQL  string
	Args int
}

// Statements are the statements of the relay, which must not read whole tables.
var Statements = map[string]Statement{
	"Dispatch":       {dispatchStatement, 11},
	"Candidates":     {candidatesStatement, 17},
	"Claim":          {claimStatement, 11},
	"ClaimAbandoned": {claimAbandonedStatement, 8},
	"ReleaseDead":    {releaseDeadStatement, 2},
	"MarkStarted":    {markStartedStatement, 3},
	"Unclaim":        {unclaimStatement, 3},
	"Requeue":        {requeueStatement, 2},
	"Overdue":        {overdueStatement, 5},
	"ClaimJobs":      {claimJobsStatement, 9},
	"PlanUsage":      {planUsageStatement, 2},
	"QueueLine":      {queueLineStatement, 5},
}

// StatementsOfIndexes returns a statement for each index of deliveries that needs it, except for deliveries_of_store.
func StatementsOfIndexes() map[string]Statement {
	return map[string]Statement{
		"deliveries_pkey":                         Statements["MarkStarted"],
		"deliveries_event_id_subscription_id_key": Statements["Dispatch"],
		"deliveries_claimable":                    Statements["Candidates"],
		"deliveries_pending":                      Statements["Candidates"],
		"deliveries_leased":                       Statements["ClaimAbandoned"],
		"deliveries_of_burst":                     Statements["ClaimAbandoned"],
		"deliveries_unfinished":                   Statements["Overdue"],
		"deliveries_of_subscription":              {positional(endQueuedToInactive), 5},
		"deliveries_strayed":                      {BacklogStatement, 2},
		"deliveries_of_replay":                    {replayOutcomes, 2},
		"deliveries_held":                         {lostTurnsStatement, 6},
		// Of the function settle_turns.
		"deliveries_ordered": {`SELECT FROM deliveries WHERE subscription_id = $1 AND resource = $2 AND ordered
			AND status IN ('pending', 'retrying')`, 2},
	}
}

// positional replaces the placeholders of bun by those of PostgreSQL.
func positional(statement string) string {
	for i := range 10 {
		statement = strings.ReplaceAll(statement, fmt.Sprint("?", i), fmt.Sprint("$", i+1))
	}
	return statement
}

// LostStatements are the statements that enqueue lost jobs, and their number of arguments.
func LostStatements() (statements map[string]string, args int) {
	statements = map[string]string{}
	for _, work := range unfinished {
		statements[string(work.kind)] = work.statement()
	}
	return statements, 8
}

// ClaimLate claims the deliveries that a decision picks, after meanwhile has changed them.
func (q *Queue) ClaimLate(ctx context.Context, now time.Time, limits app.ClaimLimits, meanwhile func(),
) ([]app.Claim, error) {
	facts, err := q.candidates(ctx, now, limits)
	if err != nil {
		return nil, err
	}
	decision := schedule.Decide(now, facts, q.scheduling(limits))
	meanwhile()
	return q.claim(ctx, now, limits.Lease, decision.Claims)
}

// Explain returns the generic plan of a statement.
func (q *Queue) Explain(ctx context.Context, statement string, args int) (string, error) {
	conn, err := q.pg.System().DB.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PREPARE explained AS "+statement); err != nil {
		return "", err
	}
	defer func() { _, _ = conn.ExecContext(ctx, "DEALLOCATE explained") }()
	nulls := strings.Join(slices.Repeat([]string{"NULL"}, args), ", ")
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("EXPLAIN (COSTS OFF) EXECUTE explained (%s)", nulls))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		fmt.Fprintln(&plan, line)
	}
	return plan.String(), rows.Err()
}

// The settings and the statements of the backlog.
var (
	BacklogPlan      = alongIndexes
	BacklogStatement = backlogStatement
	DueStatement     = dueStatement
)

// ErasingStatements are the statements of an erasure, with arguments.
func ErasingStatements(before time.Time) map[string][]any {
	statements := map[string][]any{
		selectAgedEvents: {before, time.Time{}, ""},
		eraseBodiesOf:    {[]string{"evt_1", "evt_2"}, before},
	}
	for _, statement := range []string{
		eraseDeliveries, eraseEvents, eraseReplayItems, eraseReplays, eraseSessions, eraseCustomerSessions,
		eraseInvitations, eraseMails, eraseIdempotencyKeys, erasePlatformKeys,
	} {
		statements[statement] = []any{"", before}
	}
	return statements
}

// Statements whose plans are checked.
const (
	AttemptStats   = attemptStats
	RetryingNow    = retryingNow
	OpenDeliveries = openDeliveries
	CancelQueued   = cancelQueued
	LastAttempt    = `SELECT max(a.attempted_at) FROM attempts a
		WHERE a.subscription_id = ?` // as in persistence/webhooks.go
	CountAttempts = "SELECT count(*) FROM attempts a WHERE a.store_id = ? AND a.subscription_id = ?"
)

// ExplainInStore returns the plan of a statement in one store. It disables bitmap scans, because their
// cost depends on the time of the last vacuum.
func (q *Queue) ExplainInStore(ctx context.Context, store app.StoreID, statement string, args ...any) (string, error) {
	var lines []string
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_bitmapscan = off"); err != nil {
			return err
		}
		return tx.NewRaw("EXPLAIN "+statement, args...).Scan(ctx, &lines)
	})
	return strings.Join(lines, "\n"), err
}

// ExplainDeliveries returns the plan of a page of deliveries.
func (q *Queue) ExplainDeliveries(
	ctx context.Context, store app.StoreID, filter app.DeliveryFilter, limit int,
) (plan string, err error) {
	err = q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN "+listDeliveries(tx, &[]deliveryRow{}, store, filter, "", limit).String()).
			Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// FlushReads publishes the number of rows that the connections of each pool have read.
func (q *Queue) FlushReads(ctx context.Context) error {
	for _, pool := range []*bun.DB{q.pg.App(), q.pg.System()} {
		if _, err := pool.ExecContext(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
			return err
		}
	}
	return nil
}

// ExplainEvents returns the plan of a page of events.
func (q *Queue) ExplainEvents(
	ctx context.Context, store app.StoreID, filter app.EventFilter, up bool, limit int,
) (string, error) {
	var plan []string
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		statement, args := listEvents(store, filter, up, 0, app.PageLimit{Rows: limit, Bytes: app.MaxEvent})
		rows, err := tx.Tx.QueryContext(ctx, "EXPLAIN "+statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			plan = append(plan, line)
		}
		return rows.Err()
	})
	return strings.Join(plan, "\n"), err
}

// ExplainMissed returns the plans of the statements that count and list the missed events of an hour.
func (q *Queue) ExplainMissed(ctx context.Context, store app.StoreID, id app.SubscriptionID, types []app.EventType,
	from time.Time,
) (map[string]string, error) {
	plans := map[string]string{}
	to := from.Add(time.Hour)
	in := (&replayRow{CreatedFrom: from, CreatedTo: to, CreatedAt: to.Add(time.Hour)}).missedPeriod()
	period := []any{store, pgdialect.Array(types), in.least, in.most, id}
	err := q.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.Tx.ExecContext(ctx, alongIndexes); err != nil {
			return err
		}
		for statement, args := range map[string][]any{
			countMissed: append(slices.Clone(period), in.from, in.to),
			listMissed:  append(slices.Clone(period), 5000, "rpl_1", in.from, in.to),
		} {
			var lines []string
			if err := tx.NewRaw("EXPLAIN "+statement, args...).Scan(ctx, &lines); err != nil {
				return err
			}
			plans[statement] = strings.Join(lines, "\n")
		}
		return nil
	})
	return plans, err
}

// RecordAttempts records a batch of attempts in one statement.
func (q *Queue) RecordAttempts(ctx context.Context, records []app.MadeAttempt) ([]bool, error) {
	return q.recordAttempts(ctx, records)
}

// FilterTurns returns the turns of websites that evaluate filters.
func (q *Queue) FilterTurns() *filter.Turns { return &q.filters.turns }

// OnFiltersReady sets the function that is called after an evaluation of filters.
func (q *Queue) OnFiltersReady(wake func()) { q.filters.onReady(wake) }

// AwaitFilters waits until no filters are being evaluated.
func (q *Queue) AwaitFilters() { q.filters.group.Wait() }

// Programs are compiled filters.
type Programs struct{ programs }

// NewPrograms returns an empty cache.
func NewPrograms() *Programs { return &Programs{} }

// Put adds a compiled filter.
func (p *Programs) Put(queue string, id app.SubscriptionID, compiled *filter.Filter) {
	p.put(queue, id, &program{filter: compiled})
}

// Has reports whether a filter is stored.
func (p *Programs) Has(queue string, id app.SubscriptionID) bool { return p.get(queue, id) != nil }

// Len returns the number of stored filters.
func (p *Programs) Len() (n int) {
	for _, of := range p.of {
		n += len(of)
	}
	return n
}
