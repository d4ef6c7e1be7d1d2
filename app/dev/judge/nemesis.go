package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// fault is a disturbance of an installation. run returns its detail, for example the process, when the disturbance has
// ended. Processes that it has ended are started after it.
type fault struct {
	name    string
	text    string        // for the usage
	missing func() string // the reason for which this machine cannot run it, "" = it can; nil = every machine can
	run     disturb
}

// faults are all faults in the order of the tables.
var faults = []fault{
	{"kill-worker", "SIGKILL of a worker", nil, killPart("worker")},
	{"kill-serve", "SIGKILL of an API", nil, killPart("serve")},
	{"kill-temporal", "SIGKILL of Temporal", nil, killTemporal},
	{"kill-postgres", "SIGKILL of PostgreSQL's postmaster", nil, killPostgres},
	{"suspend-worker", "SIGSTOP of a worker, SIGCONT", nil, suspendPart("worker")},
	{"suspend-serve", "SIGSTOP of an API, SIGCONT", nil, suspendPart("serve")},
	{"suspend-temporal", "SIGSTOP of Temporal, SIGCONT", nil, suspendTemporal},
	{"suspend-postgres", "SIGSTOP of all processes of PostgreSQL, SIGCONT", nil, suspendPostgres},
	{"worker-without-postgres", "a worker reaches Temporal, not PostgreSQL", nil, separate("worker", true, false)},
	{"worker-without-temporal", "a worker reaches PostgreSQL, not Temporal", nil, separate("worker", false, true)},
	{"worker-alone", "a worker reaches neither", nil, separate("worker", true, true)},
	{"serve-without-postgres", "an API does not reach PostgreSQL", nil, separate("serve", true, false)},
	{"temporal-without-postgres", "Temporal does not reach PostgreSQL", nil, separateTemporal},
	{"postgres-unreachable", "nothing reaches PostgreSQL", nil, separatePostgres},
	{"host-gone", "an API and a worker end without closing their connections", nil, loseHost},
	{"slow-postgres", "PostgreSQL responds to Comanda 100 ms later", nil, slowPostgres},
	{"restart-postgres", "PostgreSQL closes all connections and starts again", nil, restartPostgres},
	{"end-sessions", "PostgreSQL ends each session of Comanda, again and again", nil, endSessions},
	{"connections-exhausted", "PostgreSQL accepts no further connection of Comanda or Temporal", nil, exhaustConnections},
	{"clock-postgres", "the clock of PostgreSQL is stepped forward and back", clockMissing, stepClock},
	{"disk-full", "PostgreSQL's disk has no space", diskMissing, fillDisk},
	{"clock-worker", "the clock of a worker is stepped to minutes ahead or behind, and back", nil, skewPart("worker")},
	{"clock-serve", "the clock of an API is stepped to minutes ahead or behind, and back", nil, skewPart("serve")},
	{"migration", "the migrations of a further release run up and down", nil, migrate},
	{"fail-over", "a standby without the last seconds replaces PostgreSQL", nil, failOver},
	{"restore-comanda", "Comanda's database is restored from a copy", nil, restoreComanda},
	{"restore-temporal", "Temporal's databases are restored from copies", nil, restoreTemporal},
	{"empty-temporal", "Temporal starts with empty databases", nil, emptyTemporal},
	{"rolling-restart", "SIGTERM of each API and worker in turn, while the others run", nil, rollingRestart},
}

// selectFaults returns the faults with the given names, separated by commas. "" selects all that this machine can run,
// and omitted says for which reasons the others are left out.
func selectFaults(names string) (list []fault, omitted []string, err error) {
	selected := faults
	if names != "" {
		if selected, err = namedFaults(names); err != nil {
			return nil, nil, err
		}
	}
	for _, f := range selected {
		reason := ""
		if f.missing != nil {
			reason = f.missing()
		}
		switch {
		case reason == "":
			list = append(list, f)
		case names != "":
			return nil, nil, fmt.Errorf("fault %s: %s", f.name, reason)
		default:
			omitted = append(omitted, f.name+": "+reason)
		}
	}
	return list, omitted, nil
}

// namedFaults returns the faults with the given names, separated by commas, or none.
func namedFaults(names string) (list []fault, err error) {
	if names == "none" || names == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown fault %q", name)
		}
		list = append(list, faults[i])
	}
	return list, nil
}

// namesOf returns the names of faults, separated by commas, or none.
func namesOf(list []fault) string {
	if len(list) == 0 {
		return "none"
	}
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.name
	}
	return strings.Join(names, ",")
}

// sequence is the order of the faults of a run: those of a list, and then rounds of all faults, each of them shuffled.
type sequence struct {
	seed   uint64
	random *rand.Rand
	left   []fault // of the present round
}

// newSequence returns the sequence of a seed that begins with a list of faults.
func newSequence(seed uint64, first []fault) *sequence {
	return &sequence{seed, rand.New(rand.NewPCG(seed, 1)), slices.Clone(first)} //nolint:gosec // repeatable
}

// next returns the next fault of a selection, and the randomness of its targets and its duration. It does not depend on
// the other faults of the selection, which must not be empty.
func (s *sequence) next(selection []fault) (fault, *rand.Rand) {
	for {
		if len(s.left) == 0 {
			s.left = slices.Clone(faults)
			s.random.Shuffle(len(s.left), func(i, j int) { s.left[i], s.left[j] = s.left[j], s.left[i] })
		}
		f := s.left[0]
		s.left = s.left[1:]
		own := rand.New(rand.NewPCG(s.seed, s.random.Uint64())) //nolint:gosec // repeatable
		if slices.ContainsFunc(selection, func(selected fault) bool { return selected.name == f.name }) {
			return f, own
		}
	}
}

// nemesis runs the faults of the options one after the other until a time, and leaves the installation whole. The seed
// decides their order, their targets and their durations. Between two faults, the installation has time to recover,
// and at some of them longer, so that checkers see it without a fault. It records the rest of the round in the history.
func (w *world) nemesis(ctx context.Context, h *history, o options, until time.Time, out io.Writer) error {
	s, ran := newSequence(h.Seed, o.first), map[string]bool{}
	for n := 0; len(o.faults) > 0; n++ {
		f, own := s.next(o.faults)
		before, lasts := pause(h.Lasts, n), f.lasts(own, h.Lasts)
		missing := o.each && len(ran) < len(o.faults)
		if time.Now().Add(before+lasts).After(until) && !missing {
			h.Rest = namesOf(append([]fault{f}, s.left...))
			break
		}
		if err := wait(ctx, before); err != nil {
			return err
		}
		d, err := w.disturb(ctx, f, own, lasts)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		ran[f.name] = true
		h.addDisturbance(d)
		fmt.Fprintf(out, "%6.1f s to %.1f s: %s %s\n", d.Begin.Sub(h.Begin).Seconds(), d.End.Sub(h.Begin).Seconds(),
			f.name, d.Detail)
	}
	return wait(ctx, time.Until(until))
}

const (
	// outlasts is the minimum duration of a suspension: leases, workflow tasks and attempts of a worker time out within
	// 10 s, so that the other worker repeats them.
	outlasts = 15 * time.Second
	// outlastsFrom is the shortest run with such suspensions.
	outlastsFrom = 2 * time.Minute
	// goesBack is the minimum period whose changes a restore loses in a run with calm times.
	goesBack = time.Minute
)

// lasts returns the duration of a fault in a run.
func (f fault) lasts(random *rand.Rand, run time.Duration) time.Duration {
	unit := unitOf(run)
	lasts := unit + time.Duration(random.Int64N(int64(3*unit)))
	if strings.HasPrefix(f.name, "suspend-") && run >= outlastsFrom {
		return max(lasts, outlasts)
	}
	if strings.HasPrefix(f.name, "restore-") && run >= calmFrom {
		return max(lasts, goesBack)
	}
	return lasts
}

// unitOf returns the shortest duration of a fault in a run, and the time between most faults.
func unitOf(run time.Duration) time.Duration { return min(max(run/40, 2*time.Second), 15*time.Second) }

const (
	// calmFrom is the shortest run with calm times between its faults. A shorter one only begins with a calm time.
	calmFrom = 5 * time.Minute
	// calmTime is a calm time between two faults: the aftermath of the first one, two windows of a plan, as checkMade
	// needs them, and more.
	calmTime = 45 * time.Second
	// calmEvery is the number of faults after which there is a calm time.
	calmEvery = 3
	// calmBegin is the calm time at the start of a run.
	calmBegin = 20 * time.Second
)

// pause returns the time before a fault of a run, whose faults are numbered from 0 on.
func pause(run time.Duration, n int) time.Duration {
	switch {
	case run < calmFrom && n == 0:
		return max(min(run/3, calmBegin), unitOf(run))
	case run >= calmFrom && n > 0 && n%calmEvery == 0:
		return calmTime
	}
	return unitOf(run)
}

// leastCalm is the shortest time without a fault that counts as calm in a run: shorter ones are too short for most
// checkers that leave out faults.
func leastCalm(run time.Duration) time.Duration { return min(run/4, 15*time.Second) }

// calmTimes returns the sum of the calm times of a run, without faults and their aftermath.
func (h *history) calmTimes() (sum time.Duration) {
	at := h.Begin
	add := func(until time.Time) {
		if d := until.Sub(at); d >= leastCalm(h.Lasts) {
			sum += d
		}
	}
	for _, d := range h.Disturbances { // one after the other
		add(d.Begin)
		at = d.End.Add(aftermath)
	}
	add(h.End)
	return sum
}

// gentle are the faults that interrupt no attempt: the workers run, or end in their own time.
var gentle = []string{
	"kill-serve", "suspend-serve", "serve-without-postgres", "slow-postgres", "clock-postgres", "rolling-restart",
}

// disturb runs a fault, and starts the processes that it has ended.
func (w *world) disturb(ctx context.Context, f fault, random *rand.Rand, lasts time.Duration) (disturbance, error) {
	d := disturbance{Fault: f.name}
	if err := w.startParts(ctx); err != nil { // of processes that have ended without a fault
		return d, err
	}
	d.Begin = time.Now()
	w.abandoned = false
	var err error
	if d.Detail, err = f.run(ctx, w, random, lasts); err != nil {
		return d, err
	}
	err = w.startParts(ctx)
	d.End = time.Now()
	d.Gentle = slices.Contains(gentle, f.name) && !w.abandoned
	return d, err
}

// pick returns a part that runs a program.
func (w *world) pick(random *rand.Rand, program string) *part {
	var list []*part
	for _, p := range w.parts {
		if p.program == program {
			list = append(list, p)
		}
	}
	return list[random.IntN(len(list))]
}
