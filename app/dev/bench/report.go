package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of all measurements.
type report struct {
	Date     time.Time    `json:"date"`
	Machine  machine      `json:"machine"`
	Versions versions     `json:"versions"`
	Rounds   int          `json:"rounds"`
	Counted  string       `json:"counted"`
	Notes    []string     `json:"notes,omitempty"`
	Failures []string     `json:"failures,omitempty"` // errors of runs without figures
	Cases    []caseReport `json:"cases"`
}

// caseReport is the result of one case with one program.
type caseReport struct {
	Name    string         `json:"name"`
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
	for _, p := range b.programs {
		if !p.bursts {
			out.Notes = append(out.Notes, fmt.Sprintf("The program %s (%s) has no bursts: "+
				"its cases with bursts ran without them, with %d deliveries.", p.name, p.version, b.events))
		}
	}
	for _, failure := range r.failures {
		out.Failures = append(out.Failures, failure.Error())
	}
	bare, _ := r.median(bareName, "", keyRate)
	for _, c := range selected {
		for _, p := range b.programs {
			if len(r.of(c.name, p.name)) == 0 || c.shared && p.name != b.programs[0].name {
				continue
			}
			one := newCaseReport(c, p, r, bare)
			if one.Program = p.name; c.shared || len(b.programs) == 1 {
				one.Program = ""
			}
			out.Cases = append(out.Cases, one)
		}
	}
	return out
}

func newCaseReport(c benchCase, p program, r results, bare float64) caseReport {
	one := caseReport{Name: c.name, Title: c.title}
	for _, f := range c.figures {
		rounds := r.rounds(c.name, p.name, f.key)
		figure := figureReport{Name: f.key, Title: f.title, Value: median(rounds), Rounds: rounds}
		judged := figure.Value
		if ratios := r.ratios(c.name, f.over, p.name, f.key); ratios != nil {
			figure.Over, figure.Ratio = f.over, median(ratios)
			judged = figure.Ratio
		}
		if goal := f.goal.on(bare); goal.set {
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

func (r report) print(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %d cores, %.0f GiB, %s, load %.2f at the start\n", r.Date.Format(time.DateTime),
		cmp.Or(r.Machine.CPU, "unknown CPU"), r.Machine.Cores, r.Machine.Memory, r.Machine.System, r.Machine.Load)
	v := r.Versions
	fmt.Fprintf(out, "Comanda %s, %s, PostgreSQL %s, Temporal server %s, Temporal SDK %s\n",
		v.Comanda, v.Go, v.PostgreSQL, v.TemporalServer, v.TemporalSDK)
	if v.Previous != "" {
		fmt.Fprintf(out, "Previous: Comanda %s\n", v.Previous)
	}
	fmt.Fprintf(out, "Medians of %d rounds.\n", r.Rounds)
	for _, note := range r.Notes {
		fmt.Fprintln(out, note)
	}
	fmt.Fprintln(out)
	if err := r.printFigures(out); err != nil {
		return err
	}
	if err := r.printCPU(out); err != nil {
		return err
	}
	for _, c := range r.Cases {
		if c.Scale != nil {
			fmt.Fprintf(out, "\n%s\n", c.title())
			if err := c.Scale.print(out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r report) printFigures(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tmedian\trange\tratio\ttarget\treached")
	for _, c := range r.Cases {
		fmt.Fprintf(w, "%s\t\t\t\t\t\n", c.title())
		for _, f := range c.Figures {
			spread, ratio, reached := "", "", ""
			if len(f.Rounds) > 1 {
				spread = number(slices.Min(f.Rounds)) + "–" + number(slices.Max(f.Rounds))
			}
			if f.Over != "" {
				ratio = fmt.Sprintf("%.2f × %s", f.Ratio, f.Over)
			}
			if f.Reached != nil {
				reached = map[bool]string{true: "yes", false: "NO"}[*f.Reached]
			}
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\n", f.Title, number(f.Value), spread, ratio, f.Target, reached)
		}
	}
	return w.Flush()
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
	measured := slices.DeleteFunc(slices.Clone(r.Cases), func(c caseReport) bool { return c.CPU == nil })
	if len(measured) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU ms each\tservice\tits SQL\tTemporal\tPostgreSQL else\tsum\tComanda's own\t"+
		"not counted: bench\tits SQL\t")
	for _, c := range measured {
		own := ""
		if c.own != 0 {
			own = fmt.Sprintf("%.2f", c.own)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%.2f\t%.2f\t\n", c.title(), c.CPU.Service, c.CPU.SQL,
			c.CPU.Temporal, c.CPU.Postgres, c.CPU.sum(), own, c.CPU.Bench, c.CPU.Emitter)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, counted)
	return err
}
