package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// judgedKind is a kind of subjects that a checker judges only if no fault disturbs them.
type judgedKind struct {
	name  string
	from  time.Duration // runs of this duration surely have some; 0 = none is sure
	count func(*history, *state) int
}

// judgedKinds are the subjects of all checkers that leave out disturbed time. A run counts those that were judged, so
// that no checker passes because it judges nothing.
var judgedKinds = []judgedKind{
	{"claims", calmFrom, func(h *history, s *state) (n int) {
		for _, steps := range s.Steps {
			for i, to := range steps {
				n += one(i > 0 && steps[i-1].Status == "queued" && to.Status == "pending" && h.undelayed(to))
			}
		}
		return n
	}},
	{"webhooks made silent", calmFrom, func(h *history, _ *state) (n int) {
		for _, o := range h.Operations {
			n += one(h.silences(o))
		}
		return n
	}},
	{"prompt successes", calmFrom, func(h *history, _ *state) (n int) {
		for _, r := range h.Requests {
			n += one(r.Status/100 == 2 && r.Answered.Sub(r.At) < promptly &&
				h.interrupted(r.At.Add(-aftermath), r.Answered.Add(aftermath)) == 0)
		}
		return n
	}},
	{"turns", calmFrom, func(h *history, s *state) (n int) {
		for _, list := range tenures(h, s) {
			for _, t := range list {
				n += one(h.settled(t.begin, t.end))
			}
		}
		return n
	}},
	{"retries", series, func(h *history, _ *state) (n int) {
		for _, o := range h.Operations {
			n += one(o.Kind == "retry delivery" && o.Result == done && h.fresh(o))
		}
		return n
	}},
	{"expired orders", series, func(h *history, s *state) (n int) {
		for _, e := range expiries(h, s) {
			n += one(!e.delayed && !e.stepped)
		}
		return n
	}},
	{"full windows", 0, func(h *history, s *state) (n int) {
		for of, made := range s.firstAttempts() {
			limit, judged := s.judgedLimit(h, of)
			n += one(judged && made >= limit*9/10)
		}
		return n
	}},
}

// one returns 1 for true.
func one(counts bool) int {
	if counts {
		return 1
	}
	return 0
}

// checkJudged prints the numbers of subjects that were judged, and adds them to the totals. A run must have judged some
// of each kind that it surely has.
func checkJudged(o options, h *history, s *state, out io.Writer) (found []violation) {
	var parts []string
	for _, k := range judgedKinds {
		n := k.count(h, s)
		if o.total.judged == nil {
			o.total.judged = map[string]int{}
		}
		o.total.judged[k.name] += n
		parts = append(parts, fmt.Sprintf("%d %s", n, k.name))
		if n == 0 && k.from > 0 && h.Lasts >= k.from && o.whole() {
			found = append(found, violation{Checker: "judged", Text: "no " + k.name + " without a fault"})
		}
	}
	fmt.Fprintf(out, "Judged without a fault: %s\n", strings.Join(parts, ", "))
	return found
}

// unjudged returns a text for each kind of subjects of which none was judged, if the runs are a series and surely had
// some.
func (t *totals) unjudged() (list []string) {
	for _, k := range judgedKinds {
		if k.from > 0 && t.lasts >= series && t.judged[k.name] == 0 {
			list = append(list, "no "+k.name+" were judged")
		}
	}
	return list
}
