package api

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func TestWebhookStats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record(1, app.AttemptRetrying, 503)
	w.record(2, app.AttemptDelivered, 200)
	w.now = noon.Add(2 * time.Hour)
	path := "/webhooks/" + string(w.stores["own"].webhook.ID) + "/stats"
	token := w.token("OWNER", w.stores["own"].id)
	for query, want := range map[string]struct {
		by      app.Granularity
		buckets int
		counted int
	}{
		"": {app.ByHour, 24, 2}, "?granularity=day": {app.ByDay, 2, 2},
		"?from=2026-03-14T12:00:00Z": {app.ByHour, 2, 2},
		"?to=2026-03-14T12:02:00Z":   {app.ByHour, 25, 1}, "?from=2026-03-01T00:00:00Z": {app.ByDay, 14, 2},
		"?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00Z":                  {app.ByDay, 90, 2},
		"?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00Z&granularity=hour": {app.ByHour, 2160, 2},
		"?from=2025-03-01T00:00:00Z&to=2025-03-01T00:00:01Z":                  {app.ByHour, 1, 0},
		// a day earlier, this time does not exist
		"?to=0001-01-01T01:00:00Z": {app.ByHour, 1, 0},
	} {
		w.run("?"+query, func(t *testing.T) {
			var stats app.DeliveryStats
			w.do("GET", path+query, token, nil).ok(200, &stats)
			if stats.Granularity != want.by || len(stats.Buckets) != want.buckets ||
				stats.Totals.Delivered+stats.Totals.Failed != want.counted {
				t.Errorf("got %d buckets by %s with totals %+v, want %+v", len(stats.Buckets), stats.Granularity,
					stats.Totals, want)
			}
		})
	}
	for query, at := range map[string]string{
		"?granularity=minute": "granularity", "?from=2026-03-15T00:00:00Z": "to",
		"?from=2026-03-01T00:00:00Z&to=2026-05-30T00:00:00.001Z": "to",
		"?from=1": "from", "?to=2026-02-30T00:00:00Z": "to", "?page=1": "page", "?from=2020-01-01T00:00:00Z": "to",
		"?to=0001-01-01T00:00:00Z": "to",
	} {
		w.run(query, func(t *testing.T) {
			w.do("GET", path+query, token, nil).refused(app.CodeValidationFailed, at)
		})
	}
}
