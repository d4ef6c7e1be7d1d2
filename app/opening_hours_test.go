package app

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// openAt tells from the wall clock whether a store is open for a fulfillment type: the reference of nextOpen.
func openAt(h Hours, of FulfillmentType, at time.Time) bool {
	local := at.In(h.Zone)
	now := ClockTime(local.Format("15:04")) // clock times sort as text
	today := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, time.UTC)
	spans := 0
	for _, day := range h.Opening[of] {
		spans += len(day)
	}
	began := func(day time.Time, inSpan func(from, to ClockTime) bool) bool {
		for _, c := range h.Closures {
			from, _ := time.Parse(time.DateOnly, c.From)
			to, _ := time.Parse(time.DateOnly, c.To)
			if !day.Before(from) && !day.After(to) && (len(c.Types) == 0 || slices.Contains(c.Types, of)) {
				return false
			}
		}
		name := Weekday([]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[day.Weekday()])
		return spans == 0 ||
			slices.ContainsFunc(h.Opening[of][name], func(s OpeningSpan) bool { return inSpan(s.From, s.To) })
	}
	return began(today, func(from, to ClockTime) bool { return from <= now && (now < to || to <= from) }) ||
		spans > 0 && began(today.AddDate(0, 0, -1), func(from, to ClockTime) bool { return to <= from && now < to })
}

// randomHours returns hours with spans of every form: short, all day, past midnight, touching, and at the times at
// which clocks change.
func randomHours(r *rand.Rand, zone *time.Location, near time.Time) Hours {
	times := []ClockTime{"00:00", "00:00", "00:30", "01:00", "02:00", "02:30", "03:00", "12:00", "18:00", "23:00",
		"23:59", "24:00"}
	h := Hours{Zone: zone, Opening: OpeningHours{}}
	if r.IntN(10) > 0 {
		week := WeekHours{}
		for _, day := range Weekdays {
			for range r.IntN(3) {
				from, to := times[r.IntN(len(times)-1)], times[r.IntN(len(times))]
				week[day] = append(week[day], OpeningSpan{From: from, To: to})
			}
		}
		h.Opening[FulfillmentDelivery] = week
	}
	if r.IntN(3) == 0 {
		from := near.AddDate(0, 0, r.IntN(5)-2)
		h.Closures = []Closure{{
			From: from.Format(time.DateOnly), To: from.AddDate(0, 0, r.IntN(2)).Format(time.DateOnly),
			Types: [][]FulfillmentType{nil, {FulfillmentDelivery}, {FulfillmentPickup}}[r.IntN(3)],
		}}
	}
	return h
}

// For each minute around changes of the clocks, nextOpen returns the first minute at which the wall clock is in a span.
func TestNextOpenAgreesWithTheWallClock(t *testing.T) {
	t.Parallel()
	for zone, days := range map[string][]string{
		"Europe/Berlin":             {"2026-03-29", "2026-10-25", "2026-12-31"},
		"America/New_York":          {"2026-03-08", "2026-11-01"},
		"Australia/Lord_Howe":       {"2026-04-05", "2026-10-04"}, // half an hour
		"Antarctica/Troll":          {"2026-03-29", "2026-10-25"}, // two hours
		"America/Santiago":          {"2026-04-05", "2026-09-06"}, // at midnight
		"America/Havana":            {"2026-03-08", "2026-11-01"}, // 00:00 to 01:00 skipped, repeated
		"Africa/Cairo":              {"2026-04-24", "2026-10-30"},
		"America/St_Johns":          {"2010-03-14", "2010-11-07"}, // at 00:01, so that a date returns
		"America/Sao_Paulo":         {"2018-02-18", "2018-11-04"},
		"Africa/Casablanca":         {"2026-02-15", "2026-03-22"}, // Ramadan
		"Asia/Kathmandu":            {"2026-03-29"},
		"Pacific/Chatham":           {"2026-04-05", "2026-09-27"},
		"Pacific/Apia":              {"2011-12-30"}, // a day skipped
		"Pacific/Kwajalein":         {"1993-08-21"},
		"America/Argentina/Ushuaia": {"2026-02-28"},
		"UTC":                       {"2028-02-29"},
	} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, day := range days {
			t.Run(zone+" "+day, func(t *testing.T) {
				t.Parallel()
				near, err := time.Parse(time.DateOnly, day)
				if err != nil {
					t.Fatal(err)
				}
				for seed := range uint64(6) {
					agrees(t, randomHours(rand.New(rand.NewPCG(seed, 1)), location, near), near.Add(-48*time.Hour))
				}
			})
		}
	}
}

// agrees compares nextOpen and openUntil with openAt for each minute of six days.
func agrees(t *testing.T, h Hours, from time.Time) {
	t.Helper()
	const minutes = 6 * minutesPerDay
	limit := from.Add(minutes * time.Minute)
	var want time.Time // zero = none before limit
	closes := limit
	for i := minutes - 1; i >= 0; i-- {
		at := from.Add(time.Duration(i) * time.Minute)
		if openAt(h, FulfillmentDelivery, at) {
			want = at
		} else {
			closes = at
		}
		if got := h.openUntil(FulfillmentDelivery, at, limit); !got.Equal(closes) {
			t.Fatalf("open from %v: got until %v, want %v\nhours %+v", at.In(h.Zone), got.In(h.Zone),
				closes.In(h.Zone), h)
		}
		got, ok := h.nextOpen(FulfillmentDelivery, at, limit)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Fatalf("next opening after %v: got %v, %t; want %v\nhours %+v", at.In(h.Zone), got.In(h.Zone), ok,
				want.In(h.Zone), h)
		}
	}
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestOpenState(t *testing.T) {
	t.Parallel()
	zone := berlin(t)
	local := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	evenings := WeekHours{}
	for _, day := range Weekdays {
		evenings[day] = []OpeningSpan{{"18:00", "02:00"}}
	}
	lunch := WeekHours{"mon": {{"11:30", "14:00"}}}
	both := OpeningHours{FulfillmentDelivery: evenings, FulfillmentPickup: lunch, FulfillmentDineIn: lunch}
	christmas := []Closure{{From: "2026-12-24", To: "2026-12-26"}}
	for name, c := range map[string]struct {
		opening  OpeningHours
		closures []Closure
		paused   string
		at       string
		want     string // "" = open now, "-" = unknown
	}{
		"no hours":             {at: "2026-11-22 04:00"},
		"no spans":             {opening: OpeningHours{FulfillmentDelivery: {}}, at: "2026-11-22 04:00"},
		"before the evening":   {opening: both, at: "2026-11-22 17:59", want: "2026-11-22 18:00"},
		"at the start":         {opening: both, at: "2026-11-22 18:00"},
		"after midnight":       {opening: both, at: "2026-11-23 01:59"},
		"at the end":           {opening: both, at: "2026-11-23 02:00", want: "2026-11-23 11:30"},
		"another type is open": {opening: both, at: "2026-11-23 12:00"},
		"paused while open": {
			opening: both, at: "2026-11-22 18:10", paused: "2026-11-22 19:05", want: "2026-11-22 19:05",
		},
		"paused beyond the end": {
			opening: both, at: "2026-11-22 18:10", paused: "2026-11-23 02:30", want: "2026-11-23 11:30",
		},
		"paused while closed": {
			opening: both, at: "2026-11-23 03:00", paused: "2026-11-23 05:00", want: "2026-11-23 11:30",
		},
		"a pause that has ended":   {opening: both, at: "2026-11-22 18:10", paused: "2026-11-22 18:10"},
		"paused without hours":     {at: "2026-11-22 04:00", paused: "2026-11-22 05:00", want: "2026-11-22 05:00"},
		"the night of the closure": {opening: both, closures: christmas, at: "2026-12-24 01:00"}, // began on the 23rd
		"the first closed day": {
			opening: both, closures: christmas, at: "2026-12-24 19:00", want: "2026-12-27 18:00",
		},
		"the last closed night": {
			opening: both, closures: christmas, at: "2026-12-27 01:00", want: "2026-12-27 18:00",
		},
		"closed without hours": {closures: christmas, at: "2026-12-24 00:00", want: "2026-12-27 00:00"},
		"closed for one type": {
			opening: both, closures: []Closure{{From: "2026-11-22", To: "2026-11-22",
				Types: []FulfillmentType{FulfillmentDelivery}}}, at: "2026-11-22 19:00", want: "2026-11-23 11:30",
		},
		"closed for a year": {
			closures: []Closure{{From: "2026-01-01", To: "2027-12-31"}}, at: "2026-11-22 12:00", want: "-",
		},
		"closed for nearly a year": {
			closures: []Closure{{From: "2026-11-22", To: "2027-11-22"}},
			at:       "2026-11-22 12:00", want: "2027-11-23 00:00",
		},
	} {
		h := Hours{Zone: zone, Opening: c.opening, Closures: c.closures}
		if c.paused != "" {
			h.PausedUntil = local(c.paused)
		}
		got := h.State(local(c.at), FulfillmentTypes[:]...)
		state := ""
		switch {
		case got.NextOpenAt != nil:
			state = got.NextOpenAt.In(zone).Format("2006-01-02 15:04")
		case !got.OpenNow:
			state = "-"
		}
		if state != c.want || got.OpenNow != (c.want == "") {
			t.Errorf("%s: got open %t and next opening %q, want %q", name, got.OpenNow, state, c.want)
		}
	}
}

// The last moment of a span belongs to it, and the next one does not.
func TestOpenStateBetweenMinutes(t *testing.T) {
	t.Parallel()
	h := Hours{Zone: berlin(t), Opening: OpeningHours{FulfillmentPickup: {"sun": {{"12:00", "13:00"}}}}}
	end := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	if state := h.State(end.Add(-time.Nanosecond), FulfillmentPickup); !state.OpenNow {
		t.Errorf("a nanosecond before the end: got %+v, want open", state)
	}
	if state := h.State(end, FulfillmentPickup); state.OpenNow {
		t.Errorf("at the end: got %+v, want closed", state)
	}
}

func TestOverlappingSpans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		week WeekHours
		want []string
	}{
		"touching":         {WeekHours{"mon": {{"10:00", "12:00"}, {"12:00", "14:00"}}}, nil},
		"whole days":       {WeekHours{"mon": {{"00:00", "24:00"}}, "tue": {{"00:00", "00:00"}}}, nil},
		"around the clock": {WeekHours{"sat": {{"10:00", "10:00"}}, "sun": {{"10:00", "10:00"}}}, nil},
		"twice":            {WeekHours{"mon": {{"10:00", "12:00"}, {"10:00", "12:00"}}}, []string{"mon[1]"}},
		"unsorted":         {WeekHours{"mon": {{"11:00", "14:00"}, {"10:00", "12:00"}}}, []string{"mon[0]"}},
		"contained":        {WeekHours{"mon": {{"10:00", "20:00"}, {"12:00", "13:00"}}}, []string{"mon[1]"}},
		"past midnight": {
			WeekHours{"mon": {{"22:00", "02:00"}}, "tue": {{"01:59", "03:00"}}},
			[]string{"tue[0]"},
		},
		"up to the next one": {WeekHours{"mon": {{"22:00", "02:00"}}, "tue": {{"02:00", "03:00"}}}, nil},
		"from Saturday": {
			WeekHours{"sat": {{"22:00", "02:00"}}, "sun": {{"01:00", "03:00"}}},
			[]string{"sun[0]"},
		},
		"from Sunday to Monday": {
			WeekHours{"sun": {{"22:00", "02:00"}}, "mon": {{"00:00", "03:00"}}},
			[]string{"mon[0]"},
		},
		"a day and a night": {
			WeekHours{"fri": {{"10:00", "10:00"}}, "sat": {{"09:00", "12:00"}}},
			[]string{"sat[0]"},
		},
	} {
		var got []string
		for _, fault := range (OpeningHours{FulfillmentDineIn: c.week}).check() {
			got = append(got, fault.Path)
		}
		for i := range c.want {
			c.want[i] = "openingHours.DINE_IN." + c.want[i]
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got faults at %v, want %v", name, got, c.want)
		}
	}
	different := OpeningHours{FulfillmentDelivery: {"mon": {{"10:00", "12:00"}}},
		FulfillmentPickup: {"mon": {{"10:00", "12:00"}}}}
	if faults := different.check(); len(faults) > 0 {
		t.Errorf("the same hours for two types: got %v, want no faults", faults)
	}
}
