package schedule

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// filled fills a window and returns a letter for each start: c for a customer.* event, o for another event.
func filled(w *Window, others, customers line) string {
	var kinds strings.Builder
	w.fill(others, customers, func(customer bool) {
		if customer {
			kinds.WriteByte('c')
		} else {
			kinds.WriteByte('o')
		}
	})
	return kinds.String()
}

func TestFill(t *testing.T) {
	t.Parallel()
	uncut := func(n int) line { return line{waiting: n} }
	for name, test := range map[string]struct {
		window            Window
		others, customers line
		want              string
	}{
		"one of five is for customers":           {Window{Limit: 10}, uncut(20), uncut(20), "ooooc" + "ooooc"},
		"in the middle of a window":              {Window{Limit: 10, Started: 3}, uncut(20), uncut(20), "oc" + "ooooc"},
		"the window is full":                     {Window{Limit: 10, Started: 10}, uncut(20), uncut(20), ""},
		"above the limit after a downgrade":      {Window{Limit: 10, Started: 40}, uncut(20), uncut(20), ""},
		"others alone":                           {Window{Limit: 10}, uncut(20), uncut(0), "oooooooooo"},
		"customers alone leave a fifth":          {Window{Limit: 10}, uncut(0), uncut(20), "cccccccc"},
		"customers alone, later":                 {Window{Limit: 10, Started: 7}, uncut(0), uncut(20), "c"},
		"the turn of customers in the last part": {Window{Limit: 10, Started: 9}, uncut(0), uncut(20), "c"},
		"others run out":                         {Window{Limit: 10}, uncut(5), uncut(20), "ooooc" + "occ"},
		"customers run out":                      {Window{Limit: 10}, uncut(20), uncut(1), "ooooc" + "ooooo"},
		"both run out":                           {Window{Limit: 10}, uncut(1), uncut(2), "occ"},
		"more others are unread":                 {Window{Limit: 10}, line{2, true}, uncut(20), "oo"},
		"unread others, but the customers' turn": {Window{Limit: 10}, line{4, true}, uncut(20), "ooooc"},
		"more customers are unread":              {Window{Limit: 10}, uncut(20), line{1, true}, "ooooc" + "oooo"},
	} {
		if got := filled(&test.window, test.others, test.customers); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// formula returns the starts of fill by formulas for the position of each delivery.
func formula(w Window, others, customers line) string {
	type positioned struct {
		at   int
		kind byte
	}
	var starts []positioned
	free, reserved := w.Limit-w.Started, w.Limit/KindShare
	for age := 1; age <= customers.waiting; age++ {
		before := KindShare*(w.Started/KindShare+age) - w.Started - age
		at := age + min(others.waiting, before)
		alone := others.waiting < before
		if at <= free && (!alone || !others.cut && w.Started+at <= w.Limit-reserved) {
			starts = append(starts, positioned{at, 'c'})
		}
	}
	for age := 1; age <= others.waiting; age++ {
		b := age + w.Started - w.Started/KindShare
		before := (b+(b-1)/(KindShare-1))/KindShare - w.Started/KindShare
		at := age + min(customers.waiting, before)
		if at <= free && (customers.waiting >= before || !customers.cut) {
			starts = append(starts, positioned{at, 'o'})
		}
	}
	slices.SortFunc(starts, func(a, b positioned) int { return a.at - b.at })
	kinds := make([]byte, len(starts))
	for i, s := range starts {
		kinds[i] = s.kind
	}
	return string(kinds)
}

// The loop of fill starts the same kinds as a formula for the position of each delivery.
func TestFillMatchesFormula(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 400_000 {
		w := Window{Limit: 1 + random.IntN(40)}
		w.Started = random.IntN(w.Limit + 3)
		others := line{random.IntN(50), random.IntN(4) == 0}
		customers := line{random.IntN(50), random.IntN(4) == 0}
		loop := w
		if got, want := filled(&loop, others, customers), formula(w, others, customers); got != want {
			t.Fatalf("%+v, others %+v, customers %+v: got %q, want %q", w, others, customers, got, want)
		}
	}
}

// While both kinds are queued, one of five consecutive starts is for a customer.* event, however many claims fill a
// window. Customer.* events alone leave their part of the window to others.
func TestFillKeepsShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := Window{Limit: rapid.IntRange(KindShare, 200).Draw(t, "limit")}
		others, customers := 10*w.Limit, 10*w.Limit
		var kinds string
		for w.Started < w.Limit {
			read := rapid.IntRange(1, 2*w.Limit).Draw(t, "read")
			kinds += filled(&w, line{min(read, others), true}, line{min(read, customers), true})
		}
		for i := 0; i+KindShare <= len(kinds); i += KindShare {
			if part := kinds[i : i+KindShare]; strings.Count(part, "c") != 1 {
				t.Fatalf("starts from %d: got %q, want one customer.* event", i, part)
			}
		}
		w = Window{Limit: w.Limit}
		for claims := rapid.IntRange(1, 20).Draw(t, "claims"); claims > 0; claims-- {
			filled(&w, line{}, line{waiting: rapid.IntRange(0, w.Limit).Draw(t, "customers")})
		}
		late := min(w.Limit/KindShare, w.Limit-w.Started)
		if got := strings.Count(filled(&w, line{waiting: w.Limit}, line{waiting: w.Limit}), "o"); got < late*4/5 {
			t.Fatalf("late other events: got %d starts, want at least %d", got, late*4/5)
		}
	})
}
