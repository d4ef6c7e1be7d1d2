package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// longRun is the duration of all runs from which required operations must have succeeded during each fault.
	longRun = 10 * time.Minute
	// leastTries is the number of tries from which a required operation must have succeeded during a fault. A fault that
	// stops everything keeps the few clients of a site waiting, so that they make a kind of operations seldom or never.
	leastTries = 4
	// series is the duration of all runs in which each fault must have occurred.
	series = time.Hour
	// timelines is the number of violations whose timeline a report shows.
	timelines = 10
	// calm is the column of operations that no fault has disturbed.
	calm = "no fault"
)

// tally counts the results of the operations of one kind during one fault.
type tally map[string]int

func (t tally) String() string {
	if len(t) == 0 {
		return "·"
	}
	return fmt.Sprintf("%d/%d/%d/%d", t[done], t[refused], t[unknown], t[untargeted])
}

// tries returns the number of operations that had a target.
func (t tally) tries() int { return t[done] + t[refused] + t[unknown] }

// totals are what one or more runs have made.
type totals struct {
	runs, operations, requests int
	repeated                   int // requests beyond the recorded attempts
	lasts, calm                time.Duration
	faults                     map[string]int
	judged                     map[string]int              // subjects by name
	rest                       string                      // of the faults of the last run, as history has it
	tallies                    map[string]map[string]tally // of the operations by kind and fault
}

// add adds a run, except for its repeated requests. An operation counts for each fault during which it ran.
func (t *totals) add(h *history) {
	if t.runs++; t.runs == 1 {
		t.faults, t.tallies = map[string]int{}, map[string]map[string]tally{}
	}
	t.lasts += h.Lasts
	t.calm += h.calmTimes()
	t.rest = h.Rest
	t.operations += len(h.Operations)
	t.requests += len(h.Requests)
	for _, d := range h.Disturbances {
		t.faults[d.Fault]++
	}
	for _, o := range h.Operations {
		row := t.tallies[o.Kind]
		if row == nil {
			row = map[string]tally{}
			t.tallies[o.Kind] = row
		}
		for _, fault := range during(h, o.Begin, o.End) {
			if row[fault] == nil {
				row[fault] = tally{}
			}
			row[fault][o.Result]++
		}
	}
}

// during returns the names of the faults of a time, or calm.
func during(h *history, begin, end time.Time) (names []string) {
	for _, d := range h.Disturbances {
		if begin.Before(d.End) && end.After(d.Begin) && !slices.Contains(names, d.Fault) {
			names = append(names, d.Fault)
		}
	}
	if names == nil {
		return []string{calm}
	}
	return names
}

// columns returns calm and the faults that occurred, in the order of the table of faults.
func (t *totals) columns() []string {
	list := []string{calm}
	for _, f := range faults {
		if t.faults[f.name] > 0 {
			list = append(list, f.name)
		}
	}
	return list
}

// unsuccessful returns a text for each required operation that has never succeeded during a fault, if the runs were
// long enough together. Those that were tried fewer than leastTries times are rare, and no failures.
func (t *totals) unsuccessful() (failed, rare []string) {
	if t.lasts < longRun {
		return nil, nil
	}
	for _, k := range kinds {
		for _, fault := range t.columns() {
			results := t.tallies[k.name][fault]
			if !k.required || results[done] > 0 {
				continue
			}
			text := fmt.Sprintf("%s never succeeded during %s: %s", k.name, fault, results)
			if results.tries() < leastTries {
				rare = append(rare, text)
			} else {
				failed = append(failed, text)
			}
		}
	}
	return failed, rare
}

// ineffective returns a violation for each kind of operations that was never made with its purpose: that it succeeds,
// or that it is refused although it has a target.
func (t *totals) ineffective() (list []violation) {
	for _, k := range kinds {
		results := tally{}
		for _, row := range t.tallies[k.name] {
			for result, n := range row {
				results[result] += n
			}
		}
		purpose := done
		if k.refused {
			purpose = refused
		}
		if results[purpose] == 0 {
			list = append(list, violation{Checker: "kinds", Text: fmt.Sprintf("%s was never %s: %s", k.name, purpose, results)})
		}
	}
	return list
}

// unused returns a text for each fault of a selection that has never occurred, if the runs were long enough together.
func (t *totals) unused(selection []fault) (list []string) {
	for _, f := range selection {
		if t.lasts >= series && t.faults[f.name] == 0 {
			list = append(list, f.name+" never occurred")
		}
	}
	return list
}

// print prints the sums, and the operations by fault as a table of Markdown.
func (t *totals) print(out io.Writer) error {
	faults := 0
	for _, n := range t.faults {
		faults += n
	}
	fmt.Fprintf(out, "\nRuns: %d, %s, of which %s calm, %d operations, %d faults of %d kinds, %d requests of webhooks, "+
		"%d of them repeated\n", t.runs, t.lasts, t.calm.Round(time.Second), t.operations, faults, len(t.faults),
		t.requests, t.repeated)
	return t.printTable(out)
}

// printTable prints the operations by fault, as a table of Markdown.
func (t *totals) printTable(out io.Writer) error {
	names := t.columns()
	fmt.Fprint(out, "\nOperations: done/refused/unknown/without a target\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(table, "| operation\t| %s\t|\n", strings.Join(names, "\t| "))
	fmt.Fprintf(table, "|---\t%s|\n", strings.Repeat("|---\t", len(names)))
	for _, kind := range slices.Sorted(maps.Keys(t.tallies)) {
		fmt.Fprintf(table, "| %s\t", kind)
		for _, name := range names {
			fmt.Fprintf(table, "| %s\t", t.tallies[kind][name])
		}
		fmt.Fprint(table, "|\n")
	}
	return table.Flush()
}

// report prints the violations with their timelines. It returns an error if there are any.
func report(ctx context.Context, w *world, h *history, found []violation, out io.Writer) error {
	if len(found) == 0 {
		return nil
	}
	byChecker := map[string]int{}
	for i, v := range found {
		byChecker[v.Checker]++
		if byChecker[v.Checker] > timelines {
			continue
		}
		fmt.Fprintf(out, "\n%d. %s: %s%s\n", i+1, v.Checker, v.Text, subject(v))
		if byChecker[v.Checker] > 2 {
			continue
		}
		lines, err := w.timeline(ctx, h, v)
		if err != nil {
			return err
		}
		for _, line := range lines {
			fmt.Fprintln(out, "   ", line)
		}
	}
	fmt.Fprintln(out)
	for _, name := range slices.Sorted(maps.Keys(byChecker)) {
		fmt.Fprintf(out, "%s: %d violations\n", name, byChecker[name])
	}
	failed := &violatedError{text: fmt.Sprintf("violated: %d violations with seed %d", len(found), h.Seed)}
	failed.last = h.lastBefore(found)
	failed.checkers = slices.Collect(maps.Keys(byChecker))
	for _, d := range h.Disturbances {
		if !slices.Contains(failed.faults, d.Fault) {
			failed.faults = append(failed.faults, d.Fault)
		}
	}
	return failed
}

// lastBefore returns the number of the last operation that had begun when the first of some violations had happened, 0
// if none of them has a time.
func (h *history) lastBefore(found []violation) (last int) {
	first := h.End
	for _, v := range found {
		if !v.At.IsZero() && v.At.Before(first) {
			first = v.At
		}
	}
	for _, o := range h.Operations {
		if first.Before(h.End) && o.Begin.Before(first) {
			last = max(last, o.Number)
		}
	}
	return last
}

// violatedError is the error of a run that has found violations.
type violatedError struct {
	text     string
	checkers []string // that have found them
	faults   []string // of the run, in the order of their first occurrence
	last     int      // number of the last operation before the first violation, 0 = unknown
}

func (e *violatedError) Error() string { return e.text }

// subject returns the ids of a violation.
func subject(v violation) string {
	text := ""
	for name, id := range map[string]string{"order": v.Order, "event": v.Event, "webhook": v.Webhook} {
		if id != "" {
			text += fmt.Sprintf(" (%s %s)", name, id)
		}
	}
	return text
}
