package delivery

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// statsRow is one bucket of statistics, or their totals.
type statsRow struct {
	Bucket     *time.Time // null = the totals
	Delivered  int
	Failed     int
	DeadLetter int
	P50Ms      *int64 `bun:"p50_ms"`
	P99Ms      *int64 `bun:"p99_ms"`
}

func (r statsRow) counts() app.StatsCounts {
	return app.StatsCounts{
		Delivered: r.Delivered, Failed: r.Failed, DeadLetter: r.DeadLetter, P50Ms: r.P50Ms, P99Ms: r.P99Ms,
	}
}

// retryingNow counts a subscription's deliveries that wait for a retry.
const retryingNow = `SELECT (
		SELECT count(*) FROM deliveries d
		WHERE d.store_id = s.store_id AND d.subscription_id = s.id AND d.status = 'retrying')
	FROM subscriptions s WHERE s.store_id = ? AND s.id = ? AND s.deleted_at IS NULL`

// attemptStats computes the buckets and the totals with an index-only scan.
const attemptStats = `SELECT bucket, count(*) FILTER (WHERE status = 'delivered') AS delivered,
		count(*) FILTER (WHERE status <> 'delivered') AS failed,
		count(*) FILTER (WHERE status = 'dead_letter') AS dead_letter,
		percentile_disc(0.5) WITHIN GROUP (ORDER BY response_time_ms) AS p50_ms,
		percentile_disc(0.99) WITHIN GROUP (ORDER BY response_time_ms) AS p99_ms
	FROM (SELECT date_trunc(?0, attempted_at, 'UTC') AS bucket, status, response_time_ms FROM attempts
		WHERE store_id = ?1 AND subscription_id = ?2 AND attempted_at >= ?3 AND attempted_at < ?4 AND NOT is_test) a
	GROUP BY GROUPING SETS ((bucket), ())`

// Stats counts a subscription's attempts at or after from and before to, without tests. It returns
// NOT_FOUND if the store has no such subscription.
func (q *Queue) Stats(ctx context.Context, store app.StoreID, id app.SubscriptionID, from, to app.Time,
	by app.Granularity,
) (app.DeliveryStats, error) {
	stats := app.DeliveryStats{From: from, To: to, Granularity: by}
	var rows []statsRow
	err := q.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = nil
		err := tx.NewRaw(retryingNow, store, id).Scan(ctx, &stats.RetryingNow)
		if err != nil {
			return err
		}
		return tx.NewRaw(attemptStats, by, store, id, from.Time, to.Time).Scan(ctx, &rows)
	})
	if err != nil {
		return stats, err
	}
	counts := map[int64]app.StatsCounts{}
	for _, row := range rows {
		if row.Bucket == nil {
			stats.Totals = row.counts()
			continue
		}
		counts[row.Bucket.Unix()] = row.counts()
	}
	step := by.Duration()
	// Truncate is correct for hours and days, because times are in UTC.
	for start := from.Truncate(step); start.Before(to.Time); start = start.Add(step) {
		stats.Buckets = append(stats.Buckets, app.StatsBucket{Start: app.At(start), StatsCounts: counts[start.Unix()]})
	}
	return stats, nil
}
