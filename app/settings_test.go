package app_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestSettingsChanges(t *testing.T) {
	t.Parallel()
	before := app.Settings{Timezone: "Europe/Berlin", Seats: 50, BookingMaxDays: 90, Version: 1}
	same := before
	same.DeliveryFees, same.Version = map[app.Currency]int64{}, 2
	if changes := before.Changes(same); len(changes) != 0 {
		t.Errorf("equal settings: changes %v, want none", changes)
	}
	after := before
	after.Timezone, after.TaxIncluded, after.DeliveryFees = "Asia/Tokyo", true, map[app.Currency]int64{"JPY": 300}
	want := map[string]app.SettingsChange{
		"timezone":     {From: "Europe/Berlin", To: "Asia/Tokyo"},
		"taxIncluded":  {From: false, To: true},
		"deliveryFees": {From: map[string]any{}, To: map[string]any{"JPY": 300.0}},
	}
	if diff := cmp.Diff(want, before.Changes(after)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestSettingsCheckBookingLead(t *testing.T) {
	t.Parallel()
	for lead, want := range map[int]app.Code{
		0: "", 2879: "", 2880: app.CodeValidationFailed, 43200: app.CodeValidationFailed,
	} {
		if got := app.CodeOf(app.Settings{BookingLeadMinutes: lead, BookingMaxDays: 2}.Check()); got != want {
			t.Errorf("lead of %d minutes within 2 days: %q, want %q", lead, got, want)
		}
	}
}
