package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

const (
	// shrinkTime limits the search for a shorter run that fails.
	shrinkTime = 30 * time.Minute
	// shrinkTries is the number of runs after which a candidate counts as one that does not fail: a run is not
	// deterministic.
	shrinkTries = 2
	// shrinkParts is the number of parts of the operations of which the search removes the smallest one.
	shrinkParts = 16
)

// shrinker searches for a shorter run that fails.
type shrinker struct {
	shortest options
	last     int // number of the last operation before the first violation; 0 = unknown
	fails    func(ctx context.Context, o options) (bool, error)
	out      io.Writer
}

// shrink removes the operations after the first violation, then faults and then operations, while the rest still fails:
// a run with fewer operations ends earlier, so that its last faults do not occur. It returns the shortest run that has
// failed when it finds no shorter one or its time ends. first has failed, with a number of operations.
func shrink(ctx context.Context, first options, operations int, s shrinker) options {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime)
	defer cancel()
	s.shortest = first
	from, last := max(first.operations.first, 1), min(first.operations.last, operations)
	if from <= s.last && s.last < last {
		o := first
		o.operations = span{from, s.last}
		if s.try(ctx, o) {
			last = s.last
		}
	}
	list := s.shortest.faults
	without := s.shortest
	without.faults = nil
	if len(list) > 0 && !s.try(ctx, without) {
		bisect(len(list), 1, func(begin, end int) bool {
			o := s.shortest
			o.faults = list[begin:end]
			return s.try(ctx, o)
		})
	}
	n := last - from + 1
	bisect(n, max(n/shrinkParts, 1), func(begin, end int) bool {
		o := s.shortest
		o.operations = span{from + begin, from + end - 1}
		return s.try(ctx, o)
	})
	return s.shortest
}

// try runs a candidate until it fails, at most a few times. A run that the end of the search interrupts has not failed.
func (s *shrinker) try(ctx context.Context, o options) bool {
	for n := 1; n <= shrinkTries && ctx.Err() == nil; n++ {
		failed, err := s.fails(ctx, o)
		result := "has not failed"
		switch {
		case failed:
			result = "has failed"
		case ctx.Err() != nil:
			result = "interrupted"
		case err != nil:
			result = err.Error()
		}
		fmt.Fprintf(s.out, "run %d of %s: %s\n", n, o.command(), result)
		if failed {
			s.shortest = o
			return true
		}
	}
	return false
}

// bisect returns a short range of 0 to n for which fails returns true, begin included and end excluded. It removes
// halves of the range from its end or its begin, then smaller parts, down to a least one. The whole range fails.
func bisect(n, least int, fails func(begin, end int) bool) (begin, end int) {
	end = n
	for part := (n + 1) / 2; part >= least; part = min(part, (end-begin+1)/2) {
		switch {
		case part < end-begin && fails(begin, end-part):
			end -= part
		case part < end-begin && fails(begin+part, end):
			begin += part
		default:
			part /= 2
		}
	}
	return begin, end
}

// command returns the command that makes a run again.
func (o options) command() string {
	text := fmt.Sprintf("go run ./app/dev/judge --seconds %d --seed %d --faults %s",
		int(o.lasts.Seconds()), o.seed, namesOf(o.faults))
	if len(o.first) > 0 {
		text += " --first " + namesOf(o.first)
	}
	if o.operations != all {
		text += " --operations " + o.operations.String()
	}
	if o.isolation {
		text += " --isolation"
	}
	return text
}

// shrinkRun shrinks a run that has failed and prints the shortest command. A shorter run fails if a checker of the
// first run finds a violation. Only the logs and the database of the first run are kept.
func shrinkRun(ctx context.Context, o options, first *violatedError, out io.Writer) {
	fmt.Fprintf(out, "\nSearching for a shorter run that fails, for at most %s\n", shrinkTime)
	o.faults, o.total = nil, &totals{}
	for _, name := range first.faults {
		o.faults = append(o.faults, faults[slices.IndexFunc(faults, func(f fault) bool { return f.name == name })])
	}
	fails := func(ctx context.Context, o options) (bool, error) {
		dir, err := trial(ctx, o, io.Discard)
		err = errors.Join(err, os.RemoveAll(dir))
		again, failed := errors.AsType[*violatedError](err)
		return failed && slices.ContainsFunc(again.checkers, func(name string) bool {
			return slices.Contains(first.checkers, name)
		}), err
	}
	shortest := shrink(ctx, o, len(newPlan(o.seed, o.lasts)), shrinker{last: first.last, fails: fails, out: out})
	fmt.Fprintf(out, "The shortest run that has failed: %s\n", shortest.command())
}
