package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// at returns a time of the tests.
func at(seconds float64) time.Time {
	return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestRows(t *testing.T) {
	t.Parallel()
	two := []round{
		{
			fault: "partition", begin: at(0), healed: at(20),
			reasons: map[string]int{"no connection": 1, "503 UNAVAILABLE": 2},
			placed:  []placed{{"a", at(1)}, {"b", at(2)}, {"c", at(19)}, {"d", at(25)}},
		},
		{fault: "restart", strict: true, begin: at(60), healed: at(70), placed: []placed{{"e", at(61)}, {"f", at(62)}}},
	}
	ended := row{fault: "restart", strict: true, events: 2, gap: 2 * time.Second}
	rest := []arrival{{"evt_e", "e", at(62)}, {"evt_f", "f", at(63)}}
	for name, test := range map[string]struct {
		arrivals []arrival
		want     row // of the first round
		second   row
	}{
		"all arrived": {
			[]arrival{
				{"evt_a", "a", at(1.5)}, {"evt_c", "c", at(23)}, {"evt_b", "b", at(22)}, {"evt_d", "d", at(26)},
			},
			row{
				fault: "partition", events: 4, failed: 3, gap: 20500 * time.Millisecond, recovery: 3 * time.Second,
			},
			ended,
		},
		"before the end of the fault": {
			[]arrival{{"evt_a", "a", at(1)}, {"evt_b", "b", at(4)}, {"evt_c", "c", at(19)}, {"evt_d", "d", at(26)}},
			row{fault: "partition", events: 4, failed: 3, gap: 15 * time.Second}, // d was placed after the fault
			ended,
		},
		"lost": {
			[]arrival{{"evt_a", "a", at(1)}, {"evt_d", "d", at(26)}},
			row{fault: "partition", events: 4, lost: 2, failed: 3, gap: 25 * time.Second},
			ended,
		},
		"duplicates, also during the next round": {
			[]arrival{
				{"evt_a", "a", at(65)}, {"evt_a", "a", at(1)}, {"evt_b", "b", at(2)}, {"evt_b", "b", at(2)},
				{"evt_c", "c", at(20)}, {"evt_d", "d", at(26)},
			},
			row{fault: "partition", events: 4, duplicates: 2, failed: 3, gap: 18 * time.Second},
			ended,
		},
		"unconfirmed orders and a second event of an order": {
			[]arrival{
				{"evt_a", "a", at(1)}, {"evt_b", "b", at(2)}, {"evt_c", "c", at(20)}, {"evt_d", "d", at(26)},
				{"evt_x", "x", at(5)}, {"evt_x", "x", at(66)}, {"evt_y", "y", at(61)}, {"evt_2", "d", at(27)},
			},
			row{fault: "partition", events: 4, doubled: 2, failed: 3, gap: 18 * time.Second},
			row{fault: "restart", strict: true, events: 2, doubled: 1, gap: 2 * time.Second},
		},
		"none": {
			nil,
			row{fault: "partition", events: 4, lost: 4, failed: 3},
			ended,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rows(two, append(test.arrivals, rest...))
			if diff := cmp.Diff([]row{test.want, test.second}, got, cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckRow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row  row
		want string // "" = no error
	}{
		"good":                 {row{events: 1, duplicates: 1, failed: 1}, ""},
		"good, strict":         {row{events: 1, strict: true, gap: time.Hour}, ""},
		"nothing":              {row{}, "no order was placed"},
		"lost":                 {row{events: 9, lost: 1}, "1 of 9 events are lost"},
		"doubled":              {row{events: 9, doubled: 2}, "2 orders are doubled"},
		"strict, failed":       {row{events: 9, strict: true, failed: 1}, "1 requests failed"},
		"strict, repeated":     {row{events: 9, strict: true, duplicates: 1}, "1 requests of webhooks are duplicates"},
		"strict, several ones": {row{events: 9, strict: true, lost: 1, failed: 1}, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.row.check()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("check: got %v, want %q", err, test.want)
			}
		})
	}
}

func TestPrintTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := printTable(&out, []row{
		{fault: "one", events: 100, duplicates: 2, failed: 3, gap: 1500 * time.Millisecond, recovery: time.Minute},
	})
	want := "" +
		"| fault | events | lost | duplicates | repeated requests | longest gap | recovery time |\n" +
		"|---    |---     |---   |---         |---                |---          |---            |\n" +
		"| one   | 100    | 0    | 2          | 3                 | 1.5 s       | 60.0 s        |\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || err != nil {
		t.Errorf("table (-want +got), error %v:\n%s", err, diff)
	}
}
