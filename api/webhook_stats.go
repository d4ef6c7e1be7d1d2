package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var getWebhookStats = handle("getWebhookStats", (*Server).webhookStats)

type webhookStatsIn struct {
	ID          app.SubscriptionID `path:"id"`
	From        *app.Time          `query:"from"`
	To          *app.Time          `query:"to"`
	Granularity app.Granularity    `query:"granularity" validate:"omitempty,enum"`
}

// hourlySpan is the longest period for which statistics are hourly by default.
const hourlySpan = 3 * 24 * time.Hour

func (s *Server) webhookStats(ctx context.Context, c *call, in webhookStatsIn) (app.DeliveryStats, error) {
	from, to := in.span(c.now)
	if faults := checkSpan(&from, &to); faults != nil {
		return app.DeliveryStats{}, app.InvalidAll(faults)
	}
	span := to.Sub(from.Time)
	if span > app.MaxStatsSpan {
		return app.DeliveryStats{}, app.Invalid("to", "must be at most 90 days after from")
	}
	by := in.Granularity
	switch {
	case by != "":
	case span <= hourlySpan:
		by = app.ByHour
	default:
		by = app.ByDay
	}
	return s.db.Stats(ctx, c.principal.StoreID, in.ID, from, to, by)
}

// span returns the period with its defaults.
func (in webhookStatsIn) span(now time.Time) (from, to app.Time) {
	const day = 24 * time.Hour
	switch {
	case in.From != nil && in.To != nil:
		return *in.From, *in.To
	case in.From != nil:
		return *in.From, app.At(now)
	case in.To != nil:
		from = app.At(in.To.Add(-day))
		if from.Year() < 1 {
			from = app.Time{} // the earliest time
		}
		return from, *in.To
	}
	return app.At(now.Add(-day)), app.At(now)
}
