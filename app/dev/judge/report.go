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
	// longRun is the duration from which each required operation must have succeeded during each fault.
	longRun = 10 * time.Minute
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
	return fmt.Sprintf("%d/%d/%d", t[done], t[refused], t[unknown])
}

// count returns the results by kind and fault. An operation counts for each fault during which it ran.
func count(h *history) map[string]map[string]tally {
	counted := map[string]map[string]tally{}
	for _, o := range h.Operations {
		row := counted[o.Kind]
		if row == nil {
			row = map[string]tally{}
			counted[o.Kind] = row
		}
		for _, fault := range during(h, o.Begin, o.End) {
			if row[fault] == nil {
				row[fault] = tally{}
			}
			row[fault][o.Result]++
		}
	}
	return counted
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

// columns returns calm and the faults of a run in the order of the table of faults.
func columns(h *history) []string {
	list := []string{calm}
	for _, f := range faults {
		if slices.ContainsFunc(h.Disturbances, func(d disturbance) bool { return d.Fault == f.name }) {
			list = append(list, f.name)
		}
	}
	return list
}

// unsuccessful returns a violation for each required operation that has never succeeded during a fault.
func unsuccessful(h *history) (found []violation) {
	counted := count(h)
	for _, k := range kinds {
		for _, fault := range columns(h) {
			if t := counted[k.name][fault]; k.required && t[done] == 0 {
				found = append(found, violation{
					Checker: "operations", Text: fmt.Sprintf("%s never succeeded during %s: %s", k.name, fault, t),
				})
			}
		}
	}
	return found
}

// report prints the table of operations, and the violations with their timelines. It returns an error if there are any.
func report(ctx context.Context, w *world, h *history, found []violation, out io.Writer) error {
	if err := printTable(h, out); err != nil {
		return err
	}
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
	failed.checkers = slices.Collect(maps.Keys(byChecker))
	for _, d := range h.Disturbances {
		if !slices.Contains(failed.faults, d.Fault) {
			failed.faults = append(failed.faults, d.Fault)
		}
	}
	return failed
}

// violatedError is the error of a run that has found violations.
type violatedError struct {
	text     string
	checkers []string // that have found them
	faults   []string // of the run, in the order of their first occurrence
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

// printTable prints the operations by fault, as a table of Markdown.
func printTable(h *history, out io.Writer) error {
	counted, names := count(h), columns(h)
	fmt.Fprint(out, "\nOperations: done/refused/unknown\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(table, "| operation\t| %s\t|\n", strings.Join(names, "\t| "))
	fmt.Fprintf(table, "|---\t%s|\n", strings.Repeat("|---\t", len(names)))
	for _, kind := range slices.Sorted(maps.Keys(counted)) {
		fmt.Fprintf(table, "| %s\t", kind)
		for _, name := range names {
			fmt.Fprintf(table, "| %s\t", counted[kind][name])
		}
		fmt.Fprint(table, "|\n")
	}
	return table.Flush()
}
