package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func TestEventBody(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 123_999_999, time.FixedZone("", 3600))
	event, err := app.NewEvent(app.EventOrderCreated, "sto_1", now, map[string]string{"name": "<Zoë & Söhne> 🍕"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"` + string(event.ID) + `","type":"order.created","storeId":"sto_1",` +
		`"timestamp":"2026-03-14T11:00:00.123Z","data":{"name":"<Zoë & Söhne> 🍕"}}`
	if string(event.Body) != want {
		t.Errorf("body %s, want %s", event.Body, want)
	}
	types := app.EventTypes[:]
	if len(types) != 15 || slices.Contains(types, "test.ping") || !slices.Contains(types, app.EventProductUpdated) {
		t.Errorf("event types %v, want 15", types)

	}
}
