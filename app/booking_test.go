package app

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestBookingRules(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	at := func(text string) time.Time {
		parsed, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	now := at("2026-03-27 13:00") // a Friday; on Sunday, clocks go forward
	settings := Settings{
		Timezone: "Europe/Berlin", BookingLeadMinutes: 60, BookingMaxDays: 9,
		OpeningHours: OpeningHours{FulfillmentDineIn: {
			"fri": {{"18:00", "24:00"}}, "sat": {{"00:00", "02:00"}, {"11:00", "14:00"}, {"18:00", "02:00"}},
			"sun": {{"02:00", "05:00"}, {"12:00", "22:00"}},
		}},
		Closures: []Closure{{From: "2026-04-03", To: "2026-04-04", Types: []FulfillmentType{FulfillmentDineIn}}},
	}
	for name, c := range map[string]struct {
		start   string
		minutes int
		key     Code // for an API key
		next    string
		user    Code // for a user
	}{
		"in the evening":        {start: "2026-03-27 19:00", minutes: 120},
		"across midnight":       {start: "2026-03-27 23:00", minutes: 120},
		"until the end":         {start: "2026-03-28 00:00", minutes: 120},
		"beyond the end":        {"2026-03-28 00:00", 121, CodeStoreClosed, "2026-03-28 11:00", ""},
		"half past three":       {"2026-03-28 03:30", 60, CodeStoreClosed, "2026-03-28 11:00", ""},
		"over the break":        {"2026-03-28 13:00", 360, CodeStoreClosed, "2026-03-28 18:00", ""},
		"across two spans":      {start: "2026-03-28 23:00", minutes: 300}, // until 05:00, an hour is skipped
		"the skipped hour":      {"2026-03-28 23:00", 301, CodeStoreClosed, "2026-03-29 12:00", ""},
		"Monday":                {"2026-03-30 19:00", 60, CodeStoreClosed, "2026-04-05 02:00", ""}, // after the closure
		"in a closure":          {"2026-04-03 19:00", 60, CodeStoreClosed, "2026-04-05 02:00", ""},
		"at the end of closure": {"2026-04-05 00:30", 60, CodeStoreClosed, "2026-04-05 02:00", ""},
		"after the closure":     {start: "2026-04-05 12:00", minutes: 60},
		"now":                   {"2026-03-27 13:00", 60, CodeOutsideBookingWindow, "", ""},
		"within the lead time":  {"2026-03-27 13:59", 60, CodeOutsideBookingWindow, "", ""},
		"a walk-in":             {"2026-03-27 12:45", 60, CodeOutsideBookingWindow, "", ""},
		"the past":              {"2026-03-27 12:44", 60, CodeOutsideBookingWindow, "", CodeOutsideBookingWindow},
		"the last time":         {start: "2026-04-05 13:00", minutes: 60},
		"too far ahead":         {"2026-04-05 13:01", 60, CodeOutsideBookingWindow, "", CodeOutsideBookingWindow},
	} {
		for realm, want := range map[Realm]Code{RealmAPIKey: c.key, RealmTenant: c.user} {
			rules, err := settings.Booking(now, realm)
			if err == nil {
				err = rules.CheckStart(at(c.start))
			}
			if err == nil {
				err = rules.CheckOpen(at(c.start), at(c.start).Add(time.Duration(c.minutes)*time.Minute))
			}
			if CodeOf(err) != want {
				t.Errorf("%s for %s: got %v, want %q", name, realm, err, want)
			}
			if refusal, ok := err.(*Error); ok && want == CodeStoreClosed &&
				refusal.Details[0] != (Detail{Path: "nextOpenAt", Message: At(at(c.next)).String()}) {
				t.Errorf("%s: got %+v, want nextOpenAt %s", name, refusal.Details, c.next)
			}
		}
	}
	settings.Closures = []Closure{{From: "2026-01-01", To: "2027-12-31"}}
	rules, err := settings.Booking(now, RealmAPIKey)
	if err == nil {
		err = rules.CheckOpen(at("2026-03-27 19:00"), at("2026-03-27 20:00"))
	}
	if refusal, ok := err.(*Error); !ok || refusal.Code != CodeStoreClosed || refusal.Details != nil {
		t.Errorf("closed for a year: got %v, want STORE_CLOSED without details", err)
	}
}

// Slots are the quarters of an hour, also on days of 23 and 25 hours, at which a reservation of an API key succeeds.
func TestSlotsAgreeWithReservations(t *testing.T) {
	t.Parallel()
	for zone, days := range map[string][]string{
		"Europe/Berlin": {"2026-03-29", "2026-10-25", "2026-06-12"}, "America/Havana": {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe": {"2026-04-05"},
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			near, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(40) {
				r := rand.New(rand.NewPCG(seed, 7))
				hours := randomHours(r, location, near)
				settings := Settings{
					Timezone: zone, Seats: 1 + r.IntN(20), BookingLeadMinutes: r.IntN(600),
					BookingMaxDays: 1 + r.IntN(2),
					OpeningHours:   OpeningHours{FulfillmentDineIn: hours.Opening[FulfillmentDelivery]},
				}
				for _, closure := range hours.Closures {
					settings.Closures = append(settings.Closures, Closure{From: closure.From, To: closure.To})
				}
				now := near.Add(-time.Duration(r.IntN(48)) * time.Hour)
				checkSlots(t, r, settings, now, day)
			}
		}
	}
}

func checkSlots(t *testing.T, r *rand.Rand, settings Settings, now time.Time, day string) {
	t.Helper()
	rules, err := settings.Booking(now, RealmAPIKey)
	if err != nil {
		t.Fatal(err)
	}
	from, to, ok, err := rules.Day(day)
	if err != nil {
		t.Fatal(err)
	}
	var others []Seated
	for range r.IntN(30) {
		start := from.Add(time.Duration(r.IntN(30*60)-3*60) * time.Minute)
		stay := time.Duration(15+r.IntN(300)) * time.Minute
		others = append(others, Seated{start, start.Add(stay), 1 + r.IntN(5)})
	}
	stay, party := time.Duration(15+r.IntN(200))*time.Minute, 1+r.IntN(6)
	var want []Slot
	for start := from; start.Before(to); start = start.Add(15 * time.Minute) {
		end := start.Add(stay)
		left := settings.Seats - PeakCovers(slices.DeleteFunc(slices.Clone(others), func(p Seated) bool {
			return !p.Start.Before(end) || !p.End.After(start)
		}))
		if left >= party && rules.CheckStart(start) == nil && rules.CheckOpen(start, end) == nil {
			want = append(want, Slot{At(start), left})
		}
	}
	if got := rules.Slots(from, to, stay, party, settings.Seats, others); !slices.Equal(got, want) {
		t.Fatalf("slots of %s: got %v\nwant %v\nsettings %+v\nothers %v", day, got, want, settings, others)
	}
	if !ok && len(want) > 0 {
		t.Fatalf("%s is outside of the booking window, but has the slots %v", day, want)
	}
}
