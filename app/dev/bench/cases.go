package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// benchCase is one case of the report.
type benchCase struct {
	name    string // for -only
	title   string // in the report
	run     func(context.Context, *bench, program) (sample, error)
	figures []figure

	after    []string // cases that must run before, in addition to those that ratios refer to
	shared   bool     // independent of the measured program
	once     bool     // runs once, after all rounds
	dirty    bool     // leaves unfinished work: the next case gets new databases
	onDemand bool     // runs only if -only names it
}

// figure is one number of a case. key identifies it in the samples.
type figure struct {
	key, title string
	over       string // the figure is divided by the figure of the same key of this case; "" = no ratio
	goal       goal   // for the ratio if there is one, otherwise for the figure
}

// sample is the outcome of one run of a case.
type sample struct {
	values map[string]float64
	cpu    *cpu   // per delivery; nil = not measured
	scale  *scale // only of the case scale
}

// Keys of figures that several cases share.
const (
	keyRate    = "perSecond"
	keyCPU     = "cpuMsEach"
	keyDoubled = "doubled"
	keyP50     = "p50Ms"
	keyP99     = "p99Ms"
	keyMax     = "maxMs"
)

// bareName is the case to which all ratios refer, directly or through another case.
const bareName = "bare"

// distance is the delay in each direction between a worker and a remote Temporal.
const distance = 15 * time.Millisecond

// The latency goals apply to machines whose bare limit is at least bareFast per second. They grow linearly up to twice
// as much at a bare limit of bareSlow.
const (
	bareFast = 200
	bareSlow = 80
)

// saturatedFigures returns the figures of a run at full speed.
func saturatedFigures(over string, rate, cpu goal) []figure {
	return []figure{
		{key: keyRate, title: "deliveries/s", over: over, goal: rate},
		{key: keyCPU, title: "CPU ms each", over: over, goal: cpu},
		{key: keyDoubled, title: "repeated attempts", goal: atMost(0)},
	}
}

// latencyFigures returns the figures of the time from commit to arrival.
func latencyFigures(p50, p99 goal) []figure {
	return []figure{
		{key: keyP50, title: "p50 ms", goal: p50}, {key: keyP99, title: "p99 ms", goal: p99},
		{key: keyMax, title: "max ms"},
	}
}

// cases lists all cases in the order in which they run.
func cases() []benchCase {
	return []benchCase{
		{
			name: bareName, title: "bare limit of the Temporal server", shared: true, run: bareLimit,
			figures: []figure{{key: keyRate, title: "workflows/s"}, {key: keyCPU, title: "CPU ms each"}},
		}, {
			name: "strict", title: "strict mode", run: load{strict: true}.run,
			figures: saturatedFigures(bareName, atLeast(0.85), goal{}),
		}, {
			name: "bursts", title: "bursts", run: load{}.run,
			figures: saturatedFigures(bareName, atLeast(6), atMost(0.16)),
		}, {
			name: "fan-out", title: "bursts, fan-out 10", run: load{fanOut: 10}.run,
			figures: saturatedFigures(bareName, atLeast(8), goal{}),
		}, {
			name: "strict-fan-out", title: "strict mode, fan-out 10", run: load{strict: true, fanOut: 10}.run,
			figures: saturatedFigures("strict", atLeast(1), goal{}),
		}, {
			name: "failing-tenth", title: "bursts, a tenth of the receivers respond with 503",
			run: load{failing: true}.run,
			figures: append(saturatedFigures(bareName, atLeast(4), goal{}),
				figure{key: keyHealthyRate, title: "deliveries/s of the others alone"}),
		}, {
			name: "remote", title: "bursts, Temporal behind 30 ms", run: load{delay: distance}.run,
			figures: saturatedFigures("bursts", atLeast(0.8), goal{}),
		}, {
			name: "strict-remote", title: "strict mode, Temporal behind 30 ms",
			run:     load{strict: true, delay: distance}.run,
			figures: saturatedFigures("strict", atLeast(0.8), goal{}),
		}, {
			name: "latency", title: "commit to arrival of orders at a low rate",
			run: latency, after: []string{bareName},
			figures: latencyFigures(atMost(10).onFastMachines(), atMost(40).onFastMachines()),
		}, {
			name: "loaded-latency", title: "commit to arrival at 80 % of the burst capacity",
			run: loadedLatency, after: []string{"bursts"},
			figures: append(latencyFigures(goal{}, atMost(500)), figure{key: keyRate, title: "events/s"}),
		}, {
			name: "bare-low-rate", title: "bare workflows at a low rate, idle load subtracted",
			shared: true, run: bareLowRate,
			figures: []figure{
				{key: keyCPU, title: "CPU ms each", over: bareName}, {key: keyIdle, title: "idle CPU ms/s"},
			},
		}, {
			name: "low-rate", title: "deliveries at a low rate, idle load subtracted", run: lowRate,
			figures: []figure{
				{key: keyCPU, title: "CPU ms each", over: "strict", goal: atMost(1.2)},
				{key: keyCPU, title: "the same, beside bare workflows", over: "bare-low-rate"},
				{key: keyIdle, title: "idle CPU ms/s"},
			},
		}, {
			name: "tenants", title: "a tenant with 100 webhooks beside a tenant with one", run: tenants,
			figures: []figure{
				{key: keyUneven, title: "larger p50 / smaller p50", goal: atMost(1.5)},
				{key: keyManyP50, title: "p50 ms of the tenant with 100"},
				{key: keyOneP50, title: "p50 ms of the tenant with one"},
			},
		}, {
			name: "dead-letter", title: "503 until the dead letter (six attempts)", run: deadLetters,
			figures: []figure{
				{key: keyCPU, title: "CPU ms each", over: bareName}, {key: keyRate, title: "dead letters/s"},
				{key: keyDoubled, title: "repeated attempts", goal: atMost(0)},
			},
		}, {
			name: "crash", title: "worker killed with attempts in flight", once: true, run: crash,
			figures: []figure{
				{key: "inFlight", title: "attempts in flight"}, {key: "repeated", title: "of these repeated"},
				{key: "others", title: "others repeated", goal: atMost(0)},
				{key: "lastS", title: "last repetition, s after the next worker's start"},
			},
		}, {
			name: "isolation", title: "a healthy webhook beside one that hangs",
			once: true, dirty: true, run: isolation,
			figures: isolationFigures(),
		}, {
			name: "retries", title: "others' retries beside a neighbour whose retries hang",
			once: true, dirty: true, run: retries,
			figures: []figure{
				{key: keyLateP50, title: "late by p50 s"}, {key: keyLateP99, title: "late by p99 s", goal: atMost(2)},
				{key: keyLateMax, title: "late by max s"}, {key: keyNeighbour, title: "deliveries of the neighbour"},
				{key: keyMissing, title: "retries not made when the measurement ended", goal: atMost(0)},
			},
		}, {
			name: "scale", title: "many deliveries wait for a retry or a replay",
			once: true, dirty: true, onDemand: true, run: scaled,
			figures: append(latencyFigures(goal{}, goal{}), figure{key: "restartedMiB", title: "MiB of a new worker"}),
		},
	}
}

// caseNames lists the names of all cases, or of those that run on demand.
func caseNames(onDemand bool) string {
	var names []string
	for _, c := range cases() {
		if c.onDemand || !onDemand {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", ")
}

// selectCases returns the cases of a comma-separated list with all cases that these need, in the
// order of the table. An empty list selects all that do not run on demand only.
func selectCases(all []benchCase, only string) ([]benchCase, error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.ContainsFunc(all, func(c benchCase) bool { return c.name == name }) {
			return nil, fmt.Errorf("-only: unknown case %q; the cases are %s", name, caseNames(false))
		}
		wanted[name] = true
	}
	everything := len(wanted) == 0
	for _, c := range slices.Backward(all) { // a case needs earlier ones only
		if everything && !c.onDemand {
			wanted[c.name] = true
		}
		if !wanted[c.name] {
			continue
		}
		for _, needed := range c.needs() {
			wanted[needed] = true
		}
	}
	return slices.DeleteFunc(all, func(c benchCase) bool { return !wanted[c.name] }), nil
}

// needs returns the cases that must run before this one.
func (c benchCase) needs() []string {
	needed := slices.Clone(c.after)
	for _, f := range c.figures {
		if f.over != "" {
			needed = append(needed, f.over)
		}
	}
	return needed
}
