package main

import (
	"testing"
	"time"
)

// TestDelays checks which delays are measured: not those of deliveries that a plan limits, nor those during a fault.
func TestDelays(t *testing.T) {
	t.Parallel()
	b := rightBook()
	for id := range b.s.Steps {
		b.last(id, func(d *deliveryRow) { d.CountedIn = nil })
	}
	b.h.Operations[0].Tries, b.h.Operations[0].Took = 1, time.Second
	got := delaysOf(b.h, b.s)
	if len(got[measure{"a", untilAttempt}]) == 0 || len(got[measure{"b", untilAttempt}]) != 1 {
		t.Errorf("got %v, want delays of both sites", got)
	}
	if claims := got[measure{"a", untilClaim}]; len(claims) != len(got[measure{"a", untilAttempt}]) {
		t.Errorf("claims: got %d, want as many as first attempts", len(claims))
	}
	if list := got[measure{"a", untilResponse}]; len(list) != 1 || list[0] != time.Second {
		t.Errorf("responses: got %v, want one of 1s", list)
	}
	b.h.addDisturbance(disturbance{Fault: "kill-worker", Begin: noon, End: noon.Add(time.Hour)})
	if got := delaysOf(b.h, b.s); len(got) != 0 {
		t.Errorf("during a fault: got %v, want none", got)
	}
	if got := delaysOf(rightBook().h, rightBook().s)[measure{"a", untilAttempt}]; len(got) != 0 {
		t.Errorf("of deliveries that a plan limits: got %v, want none", got)
	}
}

// TestIsolation checks the limit of what other websites may cost a website.
func TestIsolation(t *testing.T) {
	t.Parallel()
	of := func(attempt, response time.Duration) delays {
		list := func(longest time.Duration) []time.Duration { return []time.Duration{time.Millisecond, longest} }
		return delays{{quiet, untilAttempt}: list(attempt), {quiet, untilResponse}: list(response)}
	}
	alone := of(50*time.Millisecond, 50*time.Millisecond)
	if found := checkIsolation(alone, of(400*time.Millisecond, 400*time.Millisecond)); len(found) != 0 {
		t.Errorf("3 times and 250 ms: got %v, want none", found)
	}
	for name, beside := range map[string]delays{
		"attempts": of(401*time.Millisecond, time.Millisecond), "responses": of(time.Millisecond, 401*time.Millisecond),
	} {
		if n := len(checkIsolation(alone, beside)); n != 1 {
			t.Errorf("%s: got %d violations, want 1", name, n)
		}
	}
	if n := len(checkIsolation(alone, delays{})); n != 2 {
		t.Errorf("nothing measured: got %d violations, want 2", n)
	}
}

// TestP99 checks the rank of the p99.
func TestP99(t *testing.T) {
	t.Parallel()
	var list []time.Duration
	for n := range 200 {
		list = append(list, time.Duration(n+1))
	}
	for n, want := range map[int]time.Duration{1: 1, 2: 2, 100: 99, 101: 100, 200: 198} {
		if got := p99(list[:n]); got != want {
			t.Errorf("of %d: got %d, want %d", n, got, want)
		}
	}
}
