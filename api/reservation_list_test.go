package api

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestReservationList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addCustomer("own", "grace@example.com").Customer
	day := func(startAt, name string) reservationOut {
		return w.reserve(object{"startAt": startAt,
			"customer": object{"name": name, "email": strings.ToLower(strings.Fields(name)[0]) + "@example.com",
				"phone": "+4917012345678"}})
	}
	late := day("2026-03-28T22:59:00Z", "Late Lovelace")  // 23:59 of the 28th in Berlin
	first := day("2026-03-28T23:00:00Z", "First Öztürk")  // 00:00 of the 29th, which has 23 hours
	last := day("2026-03-29T21:59:00Z", "Last 50%_ ラザニア") // 23:59
	next := day("2026-03-29T22:00:00Z", "Next Lovelace")
	known := w.reserve(object{"startAt": "2026-04-01T12:00:00Z", "customer": nil, "customerId": customer.ID})
	w.do("PATCH", "/reservations/"+string(last.ID)+"/status", w.tokens["OWNER"], object{"status": "CONFIRMED"}).
		ok(200, nil)
	w.do("PATCH", "/reservations/"+string(next.ID)+"/status", w.tokens["OWNER"], object{"status": "CANCELLED"}).
		ok(200, nil)
	own := w.stores["own"].reservation.ID
	for query, want := range map[string][]app.ReservationID{
		"":                                  {late.ID, first.ID, last.ID, next.ID, known.ID, own},
		"date=2026-03-29":                   {first.ID, last.ID},
		"date=2026-03-30":                   {next.ID},
		"overlapsDate=2026-03-29":           {late.ID, first.ID, last.ID},
		"overlapsDate=2026-03-30":           {last.ID, next.ID},
		"overlapsDate=0001-01-01":           {},
		"overlapsDate=9999-12-31":           {},
		"date=2026-01-01":                   {},
		"date=0001-01-01":                   {},
		"date=9999-12-31":                   {},
		"date=2026-03-29&status=CONFIRMED":  {last.ID},
		"status=CONFIRMED&status=CANCELLED": {last.ID, next.ID},
		"from=2026-03-28T23:00:00Z&to=2026-03-29T22:00:00Z":         {first.ID, last.ID},
		"from=2026-03-29T00:00:00%2B01:00&to=2026-03-29T22:00:00Z":  {first.ID, last.ID},
		"from=0001-01-01T00:00:00Z&to=9999-12-31T00:00:00Z&limit=2": {late.ID, first.ID},
		"customerId=" + string(customer.ID):                         {known.ID},
		"customerId=cus_none":                                       {},
		"q=lovelace":                                                {late.ID, next.ID, known.ID},
		"q=" + url.QueryEscape("öztÜRK"):                            {first.ID},
		"q=" + url.QueryEscape("last 50%_"):                         {last.ID},
		"q=" + url.QueryEscape("ラザ"):                                {last.ID},
		"q=%25":                                                     {},
		"q=grace%40EXAMPLE":                                         {known.ID},
		"q=" + url.QueryEscape("+4917"):                             {late.ID, first.ID, last.ID, next.ID},
		"q=nobody":                                                  {},
	} {
		w.run("?"+query, func(t *testing.T) {
			var rows []reservationOut
			w.do("GET", "/reservations?"+query, w.tokens["STAFF"], nil).ok(200, &rows)
			got := []app.ReservationID{}
			for _, r := range rows {
				got = append(got, r.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got): %s", query, diff)
			}
		})
	}
	w.do("PATCH", "/settings", w.token("OWNER", w.stores["sibling"].id), object{"timezone": "America/New_York"}).
		ok(200, nil)
	for _, date := range []string{"0001-01-01", "9999-12-31"} {
		w.do("GET", "/reservations?date="+date, w.token("OWNER", w.stores["sibling"].id), nil).ok(200, nil)
	}
	// Pages of one reservation, with a filter, contain each reservation once.
	seen, cursor := []app.ReservationID{}, ""
	for range 10 {
		var rows []reservationOut
		a := w.do("GET", "/reservations?limit=1&q=%2B4917"+cursor, w.tokens["STAFF"], nil).ok(200, &rows)
		seen = append(seen, rows[0].ID)
		next, more := a.body.Meta["nextCursor"].(string)
		if !more {
			break
		}
		cursor = "&cursor=" + next
	}
	if diff := cmp.Diff([]app.ReservationID{late.ID, first.ID, last.ID, next.ID}, seen); diff != "" {
		t.Error("pages (-want +got):", diff)
	}
	w.do("GET", "/reservations?limit=1&q=other"+cursor, w.tokens["STAFF"], nil).
		refused(app.CodeValidationFailed, "cursor")
	w.do("GET", "/reservations?q=%2B4917"+cursor, w.token("OWNER", w.stores["sibling"].id), nil).
		refused(app.CodeValidationFailed, "cursor")
}
