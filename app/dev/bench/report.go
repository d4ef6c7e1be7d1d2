package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// report is the result of all measurements.
type report struct {
	Date     time.Time    `json:"date"`
	Machine  machine      `json:"machine"`
	Versions versions     `json:"versions"`
	Rounds   int          `json:"rounds"`
	Counted  string       `json:"counted"`
	Failures []string     `json:"failures,omitempty"` // errors of runs without figures
	Cases    []caseReport `json:"cases"`
}

// caseReport is the result of one case with one program.
type caseReport struct {
	Name    string         `json:"name"`
	Table   table          `json:"table"`
	Title   string         `json:"title"`
	Program string         `json:"program,omitempty"` // "" = the only program, or independent of it
	Figures []figureReport `json:"figures"`
	CPU     *cpu           `json:"cpuMsEach,omitempty"` // medians
	Scale   *scale         `json:"scale,omitempty"`

	own float64 // CPU time that Comanda adds to bare workflows; 0 = not known
}

// figureReport is one figure, with medians of the rounds.
type figureReport struct {
	Name    string    `json:"name"`
	Title   string    `json:"title"`
	Value   float64   `json:"value"`
	Rounds  []float64 `json:"rounds"`
	Over    string    `json:"over,omitempty"` // case of the divisor of the ratio
	Ratio   float64   `json:"ratio,omitempty"`
	Target  string    `json:"target,omitempty"`
	Reached *bool     `json:"reached,omitempty"` // nil = no target
}

func newReport(b *bench, selected []benchCase, r results) report {
	out := report{
		Date: b.date, Machine: b.machine, Versions: b.versions, Rounds: b.rounds,
		Counted: strings.ReplaceAll(counted, "\n", " "),
	}
	for _, failure := range r.failures {
		out.Failures = append(out.Failures, failure.Error())
	}
	limit, _ := r.median(limitName, "", keyRate)
	for _, c := range selected {
		for _, p := range b.programs {
			if len(r.of(c.name, p.name)) == 0 || c.shared && p.name != b.programs[0].name {
				continue
			}
			one := newCaseReport(c, p, r, limit)
			if one.Program = p.name; c.shared || len(b.programs) == 1 {
				one.Program = ""
			}
			out.Cases = append(out.Cases, one)
		}
	}
	return out
}

func newCaseReport(c benchCase, p program, r results, limit float64) caseReport {
	one := caseReport{Name: c.name, Table: c.table, Title: c.title}
	for _, f := range c.figures {
		rounds := r.rounds(c.name, p.name, f.key)
		figure := figureReport{Name: f.key, Title: f.title, Value: median(rounds), Rounds: rounds}
		judged := figure.Value
		if ratios := r.ratios(c.name, f.over, p.name, f.key); ratios != nil {
			figure.Over, figure.Ratio = f.over, median(ratios)
			judged = figure.Ratio
		}
		if goal := f.goal.on(limit); goal.set {
			reached := goal.reached(judged)
			figure.Target, figure.Reached = goal.String(), &reached
		}
		one.Figures = append(one.Figures, figure)
	}
	if spent, ok := r.cpu(c.name, p.name); ok {
		one.CPU = &spent
		if idle, ok := r.cpu(bareName, ""); ok && !c.shared {
			one.own = spent.own(idle)
		}
	}
	for _, s := range r.of(c.name, p.name) {
		one.Scale = cmp.Or(s.scale, one.Scale)
	}
	return one
}

// title returns the title of a case and, if there are two programs, the name of the program.
func (c caseReport) title() string {
	if c.Program == "" {
		return c.Title
	}
	return c.Title + " (" + c.Program + ")"
}

// print prints the report as Markdown.
func (r report) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %d cores, %.0f GiB, %s, load %.2f at the start.\n", r.Date.Format(time.DateTime),
		cmp.Or(r.Machine.CPU, "unknown CPU"), r.Machine.Cores, r.Machine.Memory, r.Machine.System, r.Machine.Load)
	v := r.Versions
	fmt.Fprintf(out, "Comanda %s, %s, PostgreSQL %s, Temporal server %s, Temporal SDK %s.\n",
		v.Comanda, v.Go, v.PostgreSQL, v.TemporalServer, v.TemporalSDK)
	if v.Previous != "" {
		fmt.Fprintf(out, "Previous: Comanda %s.\n", v.Previous)
	}
	fmt.Fprintf(out, "Medians of %d rounds, with their range.\n", r.Rounds)
	for _, t := range []table{tableClients, tableWorkflows} {
		if err := r.printTable(out, t); err != nil {
			return err
		}
	}
	if err := r.printCPU(out); err != nil {
		return err
	}
	for _, c := range r.Cases {
		if c.Scale != nil {
			fmt.Fprintf(out, "\n### %s\n\n", c.title())
			if err := c.Scale.print(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// printTable prints the figures of the cases of a table.
func (r report) printTable(out io.Writer, t table) error {
	m := newMarkdown("case", "figure", "median", "range", "ratio", "target", "reached")
	for _, c := range r.Cases {
		title := c.title()
		for _, f := range c.Figures {
			if c.Table != t {
				continue
			}
			spread, ratio, reached := "", "", ""
			if len(f.Rounds) > 1 {
				spread = number(slices.Min(f.Rounds)) + " to " + number(slices.Max(f.Rounds))
			}
			if f.Over != "" {
				ratio = fmt.Sprintf("%.2f × %s", f.Ratio, f.Over)
			}
			if f.Reached != nil {
				reached = map[bool]string{true: "yes", false: "**no**"}[*f.Reached]
			}
			m.add(title, f.Title, number(f.Value), spread, ratio, f.Target, reached)
			title = "" // only in the first row of the case
		}
	}
	if len(m.rows) == 1 {
		return nil
	}
	fmt.Fprintf(out, "\n### %s\n\n", t.title())
	return m.print(out)
}

// number formats a figure with about three digits.
func number(value float64) string {
	switch {
	case value == float64(int(value)), value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// printCPU prints the CPU time by process.
func (r report) printCPU(out io.Writer) error {
	m := newMarkdown("case", "sum", "service", "its SQL", "clients' SQL", "Temporal", "PostgreSQL else",
		"Comanda's own", "not counted: bench")
	for _, c := range r.Cases {
		if c.CPU == nil {
			continue
		}
		own := ""
		if c.own != 0 {
			own = number(c.own)
		}
		m.add(c.title(), number(c.CPU.sum()), number(c.CPU.Service), number(c.CPU.SQL), number(c.CPU.Clients),
			number(c.CPU.Temporal), number(c.CPU.Postgres), own, number(c.CPU.Bench))
	}
	if len(m.rows) == 1 {
		return nil
	}
	fmt.Fprintf(out, "\n### CPU ms per delivery\n\n")
	if err := m.print(out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "\n"+counted)
	return err
}
