package api

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// openingBody opens a store for DELIVERY on Fridays and Saturdays from 18:00 to 02:00.
func openingBody() object {
	night := []object{{"from": "18:00", "to": "02:00"}}
	return object{"DELIVERY": object{"fri": night, "sat": night}}
}

func TestOpeningHoursSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var settings app.Settings
	change := func(body object) {
		t.Helper()
		settings = app.Settings{} // decoding would keep the members of its maps
		w.do("PATCH", "/settings", w.tokens["ADMIN"], body).ok(200, &settings)
	}
	same := func(what string, want app.OpeningHours) {
		t.Helper()
		if diff := cmp.Diff(want, settings.OpeningHours); diff != "" {
			t.Errorf("opening hours after %s (-want +got): %s", what, diff)
		}
	}
	night := []app.OpeningSpan{{From: "18:00", To: "02:00"}}
	change(object{"openingHours": openingBody()})
	same("the first change", app.OpeningHours{"DELIVERY": {"fri": night, "sat": night}})
	change(object{"openingHours": object{
		"DELIVERY": object{"sat": nil, "sun": []object{{"from": "00:00", "to": "24:00"}}},
		"PICKUP":   object{"mon": []object{{"from": "11:00", "to": "14:00"}, {"from": "14:00", "to": "15:00"}}},
	}})
	same("a merge", app.OpeningHours{
		"DELIVERY": {"fri": night, "sun": {{From: "00:00", To: "24:00"}}},
		"PICKUP":   {"mon": {{From: "11:00", To: "14:00"}, {From: "14:00", To: "15:00"}}},
	})
	change(object{"openingHours": object{"DELIVERY": object{"fri": []object{}}, "PICKUP": nil}})
	same("a removal", app.OpeningHours{"DELIVERY": {"sun": {{From: "00:00", To: "24:00"}}}})
	version := settings.Version
	change(object{
		"openingHours": object{"DELIVERY": object{"fri": nil}}, "closures": []object{}, "prepMinutes": object{},
	})
	if settings.Version != version {
		t.Errorf("version after a change without effect: got %d, want %d", settings.Version, version)
	}
	change(object{
		"closures": []object{
			{"from": "2026-12-24", "to": "2026-12-24", "reason": "Christmas", "types": []string{"PICKUP"}},
		},
		"prepMinutes": object{"DELIVERY": 45}, "orderLeadMinutes": 30, "orderMaxDays": 2,
		"acceptance": object{"cancelAfterMinutes": 10},
	})
	change(object{"acceptance": object{"remindAfterMinutes": 5}})
	want := settings
	want.Closures = []app.Closure{{From: "2026-12-24", To: "2026-12-24", Reason: "Christmas",
		Types: []app.FulfillmentType{"PICKUP"}}}
	want.PrepMinutes = map[app.FulfillmentType]int{"DELIVERY": 45, "PICKUP": 20, "DINE_IN": 20}
	want.OrderLeadMinutes, want.OrderMaxDays = 30, 2
	want.Acceptance = app.Acceptance{RemindAfterMinutes: 5, CancelAfterMinutes: 10}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Error("settings (-want +got):", diff)
	}
}

func TestBadOpeningHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	monday := func(spans ...object) object {
		return object{"openingHours": object{"DELIVERY": object{"mon": spans}}}
	}
	many := make([]object, 25)
	for i := range many {
		many[i] = object{"from": "10:00", "to": "11:00"}
	}
	const first = "openingHours.DELIVERY.mon[0]"
	for name, c := range map[string]struct {
		body  any
		paths []string
	}{
		"null": {`{"openingHours":null}`, []string{"openingHours"}},
		"an unknown type": {
			object{"openingHours": object{"TAKEAWAY": object{}}},
			[]string{"openingHours.TAKEAWAY"},
		},
		"an unknown day": {
			object{"openingHours": object{"PICKUP": object{"Monday": nil}}},
			[]string{"openingHours.PICKUP.Monday"},
		},
		"a span an array": {
			object{"openingHours": object{"PICKUP": object{"mon": [][]string{{}}}}},
			[]string{"openingHours.PICKUP.mon[0]"},
		},
		"no end":             {monday(object{"from": "10:00"}), []string{first + ".to"}},
		"24:00 as the start": {monday(object{"from": "24:00", "to": "02:00"}), []string{first + ".from"}},
		"after 24:00":        {monday(object{"from": "10:00", "to": "24:01"}), []string{first + ".to"}},
		"60 minutes":         {monday(object{"from": "10:60", "to": "12:00"}), []string{first + ".from"}},
		"one digit":          {monday(object{"from": "9:00", "to": "12:00"}), []string{first + ".from"}},
		"seconds":            {monday(object{"from": "09:00:00", "to": "12:00"}), []string{first + ".from"}},
		"too many":           {monday(many...), []string{"openingHours.DELIVERY.mon"}},
		"overlapping": {
			monday(object{"from": "10:00", "to": "12:00"}, object{"from": "11:59", "to": "13:00"}),
			[]string{"openingHours.DELIVERY.mon[1]"},
		},
		"overlapping at night": {
			object{"openingHours": object{"PICKUP": object{
				"sun": []object{{"from": "20:00", "to": "04:00"}}, "mon": []object{{"from": "03:00", "to": "05:00"}},
			}}},
			[]string{"openingHours.PICKUP.mon[0]"},
		},
		"a closure reversed": {
			object{"closures": []object{{"from": "2026-12-26", "to": "2026-12-24"}}},
			[]string{"closures[0].to"},
		},
		"a closure without end": {object{"closures": []object{{"from": "2026-12-26"}}}, []string{"closures[0].to"}},
		"no date": {
			object{"closures": []object{{"from": "2026-02-29", "to": "2026-03-01"}}},
			[]string{"closures[0].from"},
		},
		"a closure of no type": {
			object{"closures": []object{{"from": "2026-02-28", "to": "2026-03-01", "types": []string{"X"}}}},
			[]string{"closures[0].types[0]"},
		},
		"closures null":           {`{"closures":null}`, []string{"closures"}},
		"101 closures":            {object{"closures": make([]object, 101)}, nil},
		"a negative preparation":  {object{"prepMinutes": object{"PICKUP": -1}}, []string{"prepMinutes.PICKUP"}},
		"a preparation of a type": {object{"prepMinutes": object{"TAKEAWAY": 1}}, []string{"prepMinutes.TAKEAWAY"}},
		"a preparation null":      {`{"prepMinutes":{"PICKUP":null}}`, []string{"prepMinutes.PICKUP"}},
		"a lead beyond the days":  {object{"orderLeadMinutes": 1440, "orderMaxDays": 1}, []string{"orderLeadMinutes"}},
		"366 days":                {object{"orderMaxDays": 366}, []string{"orderMaxDays"}},
		"cancel before reminder": {
			object{"acceptance": object{"remindAfterMinutes": 5, "cancelAfterMinutes": 4}},
			[]string{"acceptance.cancelAfterMinutes"},
		},
		"cancel with reminder": {
			object{"acceptance": object{"remindAfterMinutes": 5, "cancelAfterMinutes": 5}},
			[]string{"acceptance.cancelAfterMinutes"},
		},
		"a reminder null": {
			`{"acceptance":{"remindAfterMinutes":null}}`,
			[]string{"acceptance.remindAfterMinutes"},
		},
	} {
		a := w.do("PATCH", "/settings", w.tokens["OWNER"], c.body)
		a.what = name
		a.refused(app.CodeValidationFailed, c.paths...)
	}
	// A patch that is valid alone can contradict the settings.
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"openingHours": openingBody(),
		"acceptance": object{"remindAfterMinutes": 3}}).ok(200, nil)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"openingHours": object{"DELIVERY": object{
		"sun": []object{{"from": "01:00", "to": "03:00"}}}}}).
		refused(app.CodeValidationFailed, "openingHours.DELIVERY.sun[0]")
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"acceptance": object{"cancelAfterMinutes": 3}}).
		refused(app.CodeValidationFailed, "acceptance.cancelAfterMinutes")
}

func TestStoreHours(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = time.Date(2026, 11, 20, 16, 30, 0, 0, time.UTC) // a Friday, 17:30 in Berlin
	owner, key := w.token("OWNER", w.stores["own"].id), w.key("own", app.ScopeReadOrders)
	see := func(what, openAt string, delivery string) app.Store {
		t.Helper()
		var store app.Store
		w.do("GET", "/store", key, nil).ok(200, &store)
		for of, want := range map[string]string{"": openAt, "DELIVERY": delivery} {
			got := app.OpenState{OpenNow: store.OpenNow, NextOpenAt: store.NextOpenAt}
			if of != "" {
				got = store.Hours[app.FulfillmentType(of)]
			}
			next := ""
			if got.NextOpenAt != nil {
				next = got.NextOpenAt.String()
			}
			if next != want || got.OpenNow != (want == "") {
				t.Errorf("%s %s: got open %t and next %q, want %q", what, of, got.OpenNow, next, want)
			}
		}
		return store
	}
	see("without hours", "", "")
	w.do("PATCH", "/settings", owner, object{"openingHours": openingBody()}).ok(200, nil)
	const friday = "2026-11-20T17:00:00.000Z"
	see("before the evening", "", friday)
	day := []object{{"from": "11:00", "to": "14:00"}}
	w.do("PATCH", "/settings", owner, object{"openingHours": object{
		"PICKUP": object{"sat": day}, "DINE_IN": object{"sun": day}}}).ok(200, nil)
	see("with hours of each type", friday, friday)
	w.do("PATCH", "/settings", owner, object{"timezone": "Asia/Kathmandu"}).ok(200, nil)
	see("in Kathmandu, 22:15", "", "")
	w.do("PATCH", "/settings", owner, object{"timezone": "Europe/Berlin", "closures": []object{
		{"from": "2026-11-20", "to": "2026-11-20"}}}).ok(200, nil)
	store := see("closed on Friday", "2026-11-21T10:00:00.000Z", "2026-11-21T17:00:00.000Z")
	var settings app.Settings
	w.do("GET", "/settings", owner, nil).ok(200, &settings)
	if diff := cmp.Diff([]any{settings.OpeningHours, settings.Closures},
		[]any{store.OpeningHours, store.Closures}); diff != "" || len(store.OpeningHours) != 3 {
		t.Errorf("hours and closures: got %v and %v, want those of the settings (-want +got): %s", store.OpeningHours,
			store.Closures, diff)
	}
	if len(store.Hours) != 3 || store.OrderingPausedUntil != nil {
		t.Errorf("store: got %+v, want hours of three types and no pause", store)
	}
}

func TestPausedOrdering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff := w.tokens["STAFF"]
	until := app.At(w.now.Add(time.Hour))
	var store app.Store
	see := func(what string, paused bool) {
		t.Helper()
		want := (*app.Time)(nil)
		if paused {
			want = &until
		}
		delivery := store.Hours[app.FulfillmentDelivery]
		if store.OpenNow == paused || delivery.OpenNow == paused || !cmp.Equal(store.NextOpenAt, want) ||
			!cmp.Equal(delivery.NextOpenAt, want) || !cmp.Equal(store.OrderingPausedUntil, want) {
			t.Errorf("store %s: got %+v, want paused %t", what, store, paused)
		}
	}
	w.do("POST", "/store/pause", staff, object{"until": w.now.Add(2 * time.Hour)}).ok(200, nil)
	w.now = w.now.Add(time.Second)
	w.do("POST", "/store/pause", staff, object{"until": until, "reason": "oven"}).ok(200, &store)
	see("in the response to the pause", true)
	if store.Role != app.RoleStaff {
		t.Errorf("role in the response: got %q, want STAFF", store.Role)
	}
	w.do("GET", "/store", staff, nil).ok(200, &store)
	see("while paused", true)
	w.do("GET", "/store", w.token("OWNER", w.stores["sibling"].id), nil).ok(200, &store)
	see("next to a paused one", false)
	var website app.WebsiteDetails
	w.do("GET", "/platform/websites/"+string(store.WebsiteID), w.tokens["PLATFORM"], nil).ok(200, &website)
	for _, s := range website.Stores {
		if paused := s.StoreID == w.stores["own"].id; s.OpenNow == paused {
			t.Errorf("store %s of the website: got open %t, want %t", s.StoreID, s.OpenNow, !paused)
		}
	}
	w.do("POST", "/store/resume", staff, nil).ok(200, &store)
	see("in the response to the resumption", false)
	w.do("POST", "/store/resume", staff, nil).ok(200, &store)
	see("after a repetition", false)

	w.now = w.now.Add(time.Second)
	w.do("POST", "/store/pause", staff, object{"until": until}).ok(200, nil)
	w.now = until.Time
	w.do("POST", "/store/resume", w.token("MANAGER", w.stores["own"].id), object{}).ok(200, &store)
	see("after the end of the pause", false)
	var trail []app.AuditEntry
	owner := w.token("OWNER", w.stores["own"].id)
	w.do("GET", "/audit?action=ordering.paused", owner, nil).ok(200, &trail)
	if len(trail) != 3 || trail[1].Details["reason"] != "oven" || trail[1].Details["until"] != until.String() {
		t.Errorf("audit of pauses: got %+v, want three, the second with its reason and time", trail)
	}
	w.do("GET", "/audit?action=ordering.resumed", owner, nil).ok(200, &trail)
	if len(trail) != 1 || trail[0].Actor.ID != string(w.users["STAFF"].ID) {
		t.Errorf("audit of resumptions: got %+v, want one of STAFF", trail)
	}
}

// A till pauses and resumes ordering with an API key, whose own orders are refused meanwhile.
func TestKeyPausesOrdering(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("own", app.ScopeWriteOrders)
	until := app.At(w.now.Add(time.Hour))
	var store app.Store
	w.do("POST", "/store/pause", key, object{"until": until, "reason": "oven"}).ok(200, &store)
	if !cmp.Equal(store.OrderingPausedUntil, &until) || !slices.Contains(store.Scopes, "write:orders") {
		t.Errorf("store: got %+v, want a pause until %s and the scopes of the key", store, until)
	}
	a := w.do("POST", "/orders", key, w.orderBody("own")).refused(app.CodeStoreClosed, "nextOpenAt")
	if got := a.body.Error.Details[0].Message; got != until.String() {
		t.Errorf("nextOpenAt: got %s, want %s", got, until)
	}
	var trail []app.AuditEntry
	w.do("GET", "/audit?action=ordering.paused", w.tokens["OWNER"], nil).ok(200, &trail)
	if len(trail) != 1 || trail[0].Actor.Realm != app.RealmAPIKey {
		t.Errorf("audit: got %+v, want one pause by an API key", trail)
	}
	w.do("POST", "/store/resume", key, nil).ok(200, &store)
	if store.OrderingPausedUntil != nil {
		t.Errorf("resumed: got a pause until %s", store.OrderingPausedUntil)
	}
	w.do("POST", "/orders", key, w.orderBody("own")).ok(201, nil)
}

func TestBadPauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, body := range map[string]any{
		"no time":    object{},
		"null":       `{"until":null}`,
		"now":        object{"until": w.now},
		"the past":   object{"until": w.now.Add(-time.Second)},
		"eight days": object{"until": w.now.Add(app.MaxPause + time.Second)},
		"a date":     object{"until": "2026-12-24"},
	} {
		a := w.do("POST", "/store/pause", w.tokens["STAFF"], body)
		a.what = name
		a.refused(app.CodeValidationFailed, "until")
	}
	w.do("POST", "/store/pause", w.tokens["STAFF"], object{"until": w.now.Add(app.MaxPause)}).ok(200, nil)
	w.do("POST", "/store/resume", w.tokens["STAFF"], object{"until": w.now}).refused(app.CodeValidationFailed, "until")
	w.do("POST", "/store/pause", w.key("own", app.ScopeReadOrders), object{"until": w.now.Add(time.Hour)}).
		refused(app.CodeInsufficientScope)
}
