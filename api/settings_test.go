package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := app.Settings{
		Timezone: "Europe/Berlin", TaxRatePPM: 70_000, TaxIncluded: true, TaxDeliveryFee: true,
		DeliveryFees: map[app.Currency]int64{"EUR": 250, "USD": 300},
		Seats:        50, ReservationMinutes: 120, BookingMaxDays: 90, Version: 1,
		LowerTotals: app.StaffLowerTotals, StaffMay: []app.StaffRight{},
		Loyalty:      app.Loyalty{MinorPerPoint: map[app.Currency]int64{}},
		OpeningHours: app.OpeningHours{}, Closures: []app.Closure{}, OrderMaxDays: 14,
		PrepMinutes: map[app.FulfillmentType]int{"DELIVERY": 20, "PICKUP": 20, "DINE_IN": 20},
	}
	see := func(what string) {
		t.Helper()
		var got app.Settings
		w.do("GET", "/settings", w.tokens["ADMIN"], nil).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("settings %s (-want +got): %s", what, diff)
		}
	}
	see("at first")
	w.do("PATCH", "/settings", w.tokens["ADMIN"], object{}, ifMatch(1)).ok(200, nil)
	w.do("PATCH", "/settings", w.tokens["ADMIN"],
		object{"seats": 50, "timezone": "Europe/Berlin", "deliveryFees": object{"EUR": 250}}).ok(200, nil)
	see("after changes that change nothing")

	var changed app.Settings
	w.do("PATCH", "/settings", w.tokens["ADMIN"], object{
		"timezone": "Asia/Kathmandu", "businessDayCutoffHour": 4, "taxRatePpm": 0, "taxIncluded": false,
		"taxDeliveryFee": false,
		"deliveryFees":   object{"USD": nil, "JPY": 0}, "seats": 0, "reservationMinutes": 15, "bookingLeadMinutes": 60,
		"bookingMaxDays": 1,
	}, ifMatch(1)).ok(200, &changed)
	want = app.Settings{
		Timezone: "Asia/Kathmandu", BusinessDayCutoffHour: 4, LowerTotals: app.StaffLowerTotals,
		Loyalty:            app.Loyalty{MinorPerPoint: map[app.Currency]int64{}},
		StaffMay:           []app.StaffRight{},
		DeliveryFees:       map[app.Currency]int64{"EUR": 250, "JPY": 0},
		ReservationMinutes: 15, BookingLeadMinutes: 60, BookingMaxDays: 1, Version: 2,
		OpeningHours: want.OpeningHours, Closures: want.Closures, OrderMaxDays: 14, PrepMinutes: want.PrepMinutes,
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Error("changed settings (-want +got):", diff)
	}
	see("after a change")
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 9}, ifMatch(1)).refused(app.CodeVersionMismatch)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 0}, ifMatch(3)).refused(app.CodeVersionMismatch)
	see("after refusals")

	var sibling app.Settings
	w.do("GET", "/settings", w.token("OWNER", w.stores["sibling"].id), nil).ok(200, &sibling)
	if sibling.Timezone != "Europe/Berlin" || sibling.Version != 1 {
		t.Errorf("settings of the sibling: got %+v, want them unchanged", sibling)
	}

	// The change has one entry in the trail, with the old and the new value.
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=settings.changed", w.tokens["OWNER"], nil).ok(200, &trail)
	if len(trail) != 1 || trail[0].Actor.ID != string(w.users["ADMIN"].ID) ||
		trail[0].Target != string(w.stores["own"].id) || len(trail[0].Details) != 10 {
		t.Fatalf("audit: got %+v, want one entry with 10 details", trail)
	}
	if diff := cmp.Diff(map[string]any{"from": map[string]any{"EUR": 250.0, "USD": 300.0},
		"to": map[string]any{"EUR": 250.0, "JPY": 0.0}}, trail[0].Details["deliveryFees"]); diff != "" {
		t.Error("deliveryFees in the audit entry (-want +got):", diff)
	}
}

func TestSettingsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = time.Date(2026, 3, 14, 20, 30, 0, 0, time.UTC) // 05:30 of the 15th in Tokyo
	owner := w.token("OWNER", w.stores["own"].id)
	place := func() (placed orderOut) {
		t.Helper()
		w.do("POST", "/orders", owner, altered(w.orderBody("own"), object{
			"fulfillmentType": "DELIVERY",
			"deliveryAddress": object{"line1": "1 Road", "city": "Tokyo", "country": "JP"},
		})).ok(201, &placed)
		return placed
	}
	change := func(body object) { t.Helper(); w.do("PATCH", "/settings", owner, body).ok(200, nil) }
	before := place()
	change(object{"timezone": "Asia/Tokyo", "taxRatePpm": 100_000, "taxIncluded": false, "taxDeliveryFee": false,
		"deliveryFees": object{"EUR": 99}})
	if o := place(); o.BusinessDate != "2026-03-15" || o.TaxMinor != 190 || o.DeliveryFeeMinor != 99 ||
		o.TotalMinor != 1900+190+99 {
		t.Errorf("order in Tokyo with exclusive tax: got %+v, want 2026-03-15, tax 190, fee 99, total 2189", o)
	}
	change(object{"businessDayCutoffHour": 6, "taxDeliveryFee": true, "deliveryFees": object{"EUR": nil}})
	if o := place(); o.BusinessDate != "2026-03-14" || o.DeliveryFeeMinor != 0 {
		t.Errorf("order before the cutoff hour: got the date %s and the fee %d, want 2026-03-14 and 0", o.BusinessDate,
			o.DeliveryFeeMinor)
	}
	var again orderOut
	w.do("GET", "/orders/"+string(before.ID), owner, nil).ok(200, &again)
	if diff := cmp.Diff(before, again); diff != "" {
		t.Error("an earlier order changed (-before +after):", diff)
	}
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fees := object{}
	for i := range 201 {
		fees[fmt.Sprintf("X%02d", i)] = 1
	}
	for name, c := range map[string]struct {
		body  any
		paths []string
	}{
		"no object":                {"[]", []string{""}},
		"null":                     {"null", []string{""}},
		"an unknown member":        {object{"name": "x"}, []string{"name"}},
		"the version":              {object{"version": 2}, []string{"version"}},
		"another store":            {object{"storeId": w.stores["own"].id}, []string{"storeId"}},
		"a zone null":              {`{"timezone":null}`, []string{"timezone"}},
		"a zone a number":          {object{"timezone": 1}, []string{"timezone"}},
		"no zone":                  {object{"timezone": ""}, []string{"timezone"}},
		"an unknown zone":          {object{"timezone": "Europe/Atlantis"}, []string{"timezone"}},
		"the machine's zone":       {object{"timezone": "Local"}, []string{"timezone"}},
		"the machine's file":       {object{"timezone": "localtime"}, []string{"timezone"}},
		"leap seconds":             {object{"timezone": "right/Europe/Berlin"}, []string{"timezone"}},
		"another case":             {object{"timezone": "europe/berlin"}, []string{"timezone"}},
		"an offset":                {object{"timezone": "+01:00"}, []string{"timezone"}},
		"a path":                   {object{"timezone": "../../etc/passwd"}, []string{"timezone"}},
		"a long zone":              {object{"timezone": "E" + strings.Repeat("x", 10_000)}, []string{"timezone"}},
		"hour -1":                  {object{"businessDayCutoffHour": -1}, []string{"businessDayCutoffHour"}},
		"hour 24":                  {object{"businessDayCutoffHour": 24}, []string{"businessDayCutoffHour"}},
		"an hour a fraction":       {object{"businessDayCutoffHour": 1.5}, []string{"businessDayCutoffHour"}},
		"rate -1":                  {object{"taxRatePpm": -1}, []string{"taxRatePpm"}},
		"rate above one":           {object{"taxRatePpm": 1_000_001}, []string{"taxRatePpm"}},
		"included a string":        {object{"taxIncluded": "true"}, []string{"taxIncluded"}},
		"a fee taxed null":         {`{"taxDeliveryFee":null}`, []string{"taxDeliveryFee"}},
		"fees null":                {`{"deliveryFees":null}`, []string{"deliveryFees"}},
		"fees a list":              {object{"deliveryFees": []int{1}}, []string{"deliveryFees"}},
		"a fee in no currency":     {object{"deliveryFees": object{"XXX": 1}}, []string{"deliveryFees.XXX"}},
		"a fee in lower case":      {object{"deliveryFees": object{"eur": 1}}, []string{"deliveryFees.eur"}},
		"an unknown one taken out": {object{"deliveryFees": object{"ABC": nil}}, []string{"deliveryFees.ABC"}},
		"a fee below 0":            {object{"deliveryFees": object{"EUR": -1}}, []string{"deliveryFees.EUR"}},
		"a fee above all": {
			object{"deliveryFees": object{"EUR": int64(1e12) + 1}}, []string{"deliveryFees.EUR"},
		},
		"too many fees":             {object{"deliveryFees": fees}, nil},
		"seats -1":                  {object{"seats": -1}, []string{"seats"}},
		"too many seats":            {object{"seats": 100_001}, []string{"seats"}},
		"seats null":                {`{"seats":null}`, []string{"seats"}},
		"14 minutes":                {object{"reservationMinutes": 14}, []string{"reservationMinutes"}},
		"more than a day":           {object{"reservationMinutes": 1441}, []string{"reservationMinutes"}},
		"lead -1":                   {object{"bookingLeadMinutes": -1}, []string{"bookingLeadMinutes"}},
		"lead above all":            {object{"bookingLeadMinutes": 43_201}, []string{"bookingLeadMinutes"}},
		"0 days":                    {object{"bookingMaxDays": 0}, []string{"bookingMaxDays"}},
		"731 days":                  {object{"bookingMaxDays": 731}, []string{"bookingMaxDays"}},
		"days beyond every integer": {`{"bookingMaxDays":99999999999999999999}`, []string{"bookingMaxDays"}},
		"lead and days together": {
			object{"bookingLeadMinutes": 1440, "bookingMaxDays": 1}, []string{"bookingLeadMinutes"},
		},
		"two faults": {object{"seats": -1, "bookingMaxDays": 0}, []string{"seats", "bookingMaxDays"}},
	} {
		w.run(name, func(t *testing.T) {
			w.do("PATCH", "/settings", w.tokens["OWNER"], c.body).refused(app.CodeValidationFailed, c.paths...)
		})
	}
	for _, tag := range []string{"", "1", `W/"1"`, `"0"`, `"x"`, "*"} {
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{}, header("If-Match", tag)).
			refused(app.CodeValidationFailed, "If-Match")
	}
	w.do("GET", "/settings?timezone=UTC", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "timezone")
	var settings app.Settings
	w.do("GET", "/settings", w.tokens["OWNER"], nil).ok(200, &settings)
	if settings.Version != 1 {
		t.Errorf("after refused changes: got version %d, want 1", settings.Version)
	}
	for _, zone := range []string{"UTC", "Etc/GMT+5", "America/Argentina/ComodRivadavia", "Australia/Lord_Howe"} {
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{"timezone": zone}).ok(200, nil)
	}
}

// Of twenty concurrent changes of one version, one succeeds. Twenty concurrent changes of any version all succeed.
func TestRacingSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	responses := make(chan *response, 20)
	var wait sync.WaitGroup
	for i := range cap(responses) {
		wait.Go(func() {
			responses <- w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 100 + i}, ifMatch(1))
		})
	}
	wait.Wait()
	close(responses)
	won := 0
	for a := range responses {
		if a.Code == 200 {
			won++
			continue
		}
		a.refused(app.CodeVersionMismatch)
	}
	for i := range cap(responses) {
		wait.Go(func() {
			fee := json.RawMessage(fmt.Sprintf(`{"deliveryFees":{%q:%d}}`, []string{"CHF", "DKK", "GBP", "NOK"}[i%4],
				1000+i))
			w.do("PATCH", "/settings", w.tokens["OWNER"], fee).ok(200, nil)
		})
	}
	wait.Wait()
	var settings app.Settings
	w.do("GET", "/settings", w.tokens["OWNER"], nil).ok(200, &settings)
	if won != 1 || settings.Version != 22 || len(settings.DeliveryFees) != 6 {
		t.Errorf("concurrent changes: got %d successes and %+v, want 1, version 22 and 6 fees", won, settings)
	}
}
