package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestJudged checks that a long run without a subject of a checker fails, and a series in which one was never judged.
func TestJudged(t *testing.T) {
	t.Parallel()
	o := options{operations: all, sites: everywhere, total: &totals{}}
	b := rightBook()
	var out strings.Builder
	b.h.Lasts = calmFrom
	if found := checkJudged(o, b.h, b.s, &out); len(found) > 0 {
		t.Errorf("without a fault: got %v, want none", found)
	}
	if got, want := out.String(), "12 claims, 2 webhooks made silent, 11 prompt successes"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	o.total.lasts = series
	want := []string{"no expired orders were judged"}
	if list := o.total.unjudged(); !slices.Equal(list, want) {
		t.Errorf("got %q, want %q", list, want)
	}
	b.h.addDisturbance(disturbance{Begin: noon, End: noon.Add(time.Hour)})
	for lasts, want := range map[time.Duration]int{calmFrom: 4, calmFrom - 1: 0} {
		b.h.Lasts = lasts
		if found := checkJudged(o, b.h, b.s, &out); len(found) != want {
			t.Errorf("%s with a fault: got %v, want %d violations", lasts, found, want)
		}
	}
}
