package main

import "slices"

// results are the outcomes of all runs.
type results struct {
	samples  map[runKey][]sample // in the order of the rounds
	failures []error             // errors of runs without samples
}

// runKey identifies the runs of a case with a program, "" if the case is independent of the program.
type runKey struct{ name, program string }

func newResults() results { return results{samples: map[runKey][]sample{}} }

// add adds a run.
func (r results) add(c benchCase, p program, s sample) {
	key := runKey{c.name, p.name}
	if c.shared {
		key.program = ""
	}
	r.samples[key] = append(r.samples[key], s)
}

// of returns the samples of a case with a program.
func (r results) of(name, program string) []sample {
	if shared, ok := r.samples[runKey{name, ""}]; ok {
		return shared
	}
	return r.samples[runKey{name, program}]
}

// rounds returns a figure in each round.
func (r results) rounds(name, program, key string) (values []float64) {
	for _, s := range r.of(name, program) {
		values = append(values, s.values[key])
	}
	return values
}

// median returns the median of a figure; ok is false if it was not measured.
func (r results) median(name, program, key string) (value float64, ok bool) {
	values := r.rounds(name, program, key)
	if len(values) == 0 {
		return 0, false
	}
	return median(values), true
}

// ratios returns a figure divided by that of another case: per round if both ran equally often, otherwise one ratio of
// the medians. It returns nil if one of them was not measured.
func (r results) ratios(name, over, program, key string) []float64 {
	values, others := r.rounds(name, program, key), r.rounds(over, program, key)
	switch {
	case len(values) == 0 || len(others) == 0:
		return nil
	case len(values) != len(others):
		return []float64{median(values) / median(others)}
	}
	for i, other := range others {
		values[i] /= other
	}
	return values
}

// cpu returns the median CPU time of a case by owner; ok is false if it was not measured.
func (r results) cpu(name, program string) (c cpu, ok bool) {
	var all []cpu
	for _, s := range r.of(name, program) {
		if s.cpu != nil {
			all = append(all, *s.cpu)
		}
	}
	if len(all) == 0 {
		return c, false
	}
	by := func(field func(cpu) float64) float64 {
		var values []float64
		for _, each := range all {
			values = append(values, field(each))
		}
		return median(values)
	}
	return cpu{
		Service:  by(func(c cpu) float64 { return c.Service }),
		SQL:      by(func(c cpu) float64 { return c.SQL }),
		Temporal: by(func(c cpu) float64 { return c.Temporal }),
		Postgres: by(func(c cpu) float64 { return c.Postgres }),
		Clients:  by(func(c cpu) float64 { return c.Clients }),
		Bench:    by(func(c cpu) float64 { return c.Bench }),
	}, true
}

// median returns the median of values, which must not be empty.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}
