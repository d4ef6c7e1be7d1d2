package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What is measured of a site. The time until the claim shows whether Comanda or Temporal delays an attempt.
const (
	untilClaim    = "commit to claim"
	untilAttempt  = "commit to first attempt"
	untilResponse = "request to response"
)

// slowKinds are the kinds of operations whose response waits for a receiver, or for a time.
var slowKinds = []string{"retry delivery", "test webhook", "suspend website"}

// measure is something that is measured of a site.
type measure struct{ site, what string }

// delays are the times that were measured, ascending.
type delays map[measure][]time.Duration

// delaysOf returns the times from the commit of an event to its first request, and from a request to its response.
// Those that a fault disturbs, and those of deliveries that a plan limits, are left out.
func delaysOf(h *history, s *state) delays {
	all := delays{}
	add := func(site, what string, begin, end time.Time) {
		if h.disturbed(begin.Add(-aftermath), end) == 0 {
			all[measure{site, what}] = append(all[measure{site, what}], end.Sub(begin))
		}
	}
	requests := h.requestsByTarget()
	for _, d := range s.Deliveries {
		list, e := requests[d.target()], s.Events[d.Event]
		steps := s.Steps[d.ID]
		if len(list) > 0 && e != nil && !steps[0].isReplay() && d.CountedIn == nil && e.At.After(h.Begin) {
			add(list[0].Site, untilAttempt, e.At, list[0].At)
			if len(steps) > 1 {
				add(list[0].Site, untilClaim, e.At, steps[1].At)
			}
		}
	}
	for _, o := range h.Operations {
		if o.Tries == 1 && o.Result != unknown && !slices.Contains(slowKinds, o.Kind) {
			add(o.Site, untilResponse, o.End.Add(-o.Took), o.End)
		}
	}
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// p99 returns the time that 99 of 100 do not exceed.
func p99(list []time.Duration) time.Duration { return list[(len(list)*99+99)/100-1] }

// The time that others may cost a website, in addition to that which it needs alone.
const (
	isolationFactor = 3
	isolationRest   = 250 * time.Millisecond
)

// checkIsolation compares the delays of the quiet restaurant beside others with those that it has alone.
func checkIsolation(alone, beside delays) (found []violation) {
	add := func(format string, args ...any) {
		found = append(found, violation{Checker: "isolation", Text: fmt.Sprintf(format, args...)})
	}
	for _, what := range []string{untilAttempt, untilResponse} {
		of := measure{quiet, what}
		if len(alone[of]) == 0 || len(beside[of]) == 0 {
			add("%s of %s was not measured", what, quiet)
			continue
		}
		was, is := p99(alone[of]), p99(beside[of])
		if limit := isolationFactor*was + isolationRest; is > limit {
			add("%s of %s takes %s (p99), and %s alone: more than %s", what, quiet, is, was, limit)
		}
	}
	return found
}

// compare runs the quiet restaurant alone first, and then all sites with the same seed, in directories of their own.
func compare(ctx context.Context, o options, dir string, out io.Writer) error {
	o.measured = delays{}
	alone := o
	alone.sites, alone.faults, alone.measured, alone.total = []string{quiet}, nil, delays{}, &totals{}
	o.alone = alone.measured
	for name, each := range []options{alone, o} {
		own := filepath.Join(dir, fmt.Sprint(name))
		if err := os.Mkdir(own, 0o755); err != nil { //nolint:gosec // PostgreSQL may run as another user
			return err
		}
		fmt.Fprintf(out, "Run of %s\n", strings.Join(each.sites, ", "))
		if err := run(ctx, each, own, out); err != nil {
			return err
		}
	}
	return nil
}

// print prints the p99 of all delays.
func (d delays) print(out io.Writer) {
	fmt.Fprintln(out)
	for _, what := range []string{untilClaim, untilAttempt, untilResponse} {
		for _, site := range everywhere {
			if list := d[measure{site, what}]; len(list) > 0 {
				fmt.Fprintf(out, "%s of %s: %s (p99 of %d)\n", what, site, p99(list).Round(time.Millisecond), len(list))
			}
		}
	}
}
