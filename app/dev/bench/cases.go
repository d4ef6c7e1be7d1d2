package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// benchCase is one case of the report.
type benchCase struct {
	name    string // for -only
	table   table
	title   string // in the report
	run     func(context.Context, *bench, program) (sample, error)
	figures []figure

	after    []string // cases that must run before, in addition to those that ratios refer to
	shared   bool     // independent of the measured program
	once     bool     // runs once, after all rounds
	dirty    bool     // leaves unfinished work: the next case gets new databases
	onDemand bool     // runs only if -only names it
}

// table is a table of the report. Its name selects its cases with -only.
type table string

const (
	tableClients   table = "clients"
	tableWorkflows table = "workflows"
)

// title returns the heading of the table.
func (t table) title() string {
	return map[table]string{
		tableClients: "As a client works: one commit per event, while deliveries are made",
		tableWorkflows: "Relative to bare workflows: the events are committed in one transaction before the clock " +
			"starts, except where a rate is given",
	}[t]
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

// Cases to which ratios refer, directly or through another case: limitName in the table of clients, bareName in that of
// workflows.
const (
	limitName = "limit"
	bareName  = "bare"
)

// matchingFilter is a filter that matches all events of the clients.
const matchingFilter = `type == "product.created" && data.priceMinor >= 100`

// distance is the delay in each direction between a worker and a remote Temporal.
const distance = 15 * time.Millisecond

// saturatedFigures returns the figures of a run at full speed.
func saturatedFigures(over string, rate, cpu goal) []figure {
	return []figure{
		{key: keyRate, title: "deliveries/s", over: over, goal: rate},
		{key: keyCPU, title: "CPU ms each", over: over, goal: cpu},
		{key: keyDoubled, title: "repeated attempts", goal: atMost(0)},
	}
}

// pacedFigures returns the figures of a run at a steady rate.
func pacedFigures(p50, p99, cpu goal) []figure {
	return append(latencyFigures(p50.onFastMachines(), p99.onFastMachines()),
		figure{key: keyCPU, title: "CPU ms each", goal: cpu.onFastMachines()},
		figure{key: keyBeyondIdle, title: "the same, without idle time"})
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
	var all []benchCase
	for _, t := range []struct {
		table
		cases []benchCase
	}{{tableClients, clientCases()}, {tableWorkflows, workflowCases()}} {
		for _, c := range t.cases {
			c.table = t.table
			all = append(all, c)
		}
	}
	return all
}

// clientCases lists the cases in which clients commit events while deliveries are made.
func clientCases() []benchCase {
	commits := figure{key: keyCommits, title: "commits/s"}
	return []benchCase{
		{
			name: limitName, title: "limit: the minimal sender, fan-out 1", shared: true,
			run:     clientLoad{limit: true}.saturated,
			figures: append(saturatedFigures("", goal{}, goal{}), commits),
		}, {
			name: "fan-out-1", title: "fan-out 1", run: clientLoad{}.saturated,
			figures: append(saturatedFigures(limitName, atLeast(0.55), atMost(2)), commits),
		}, {
			name: "fan-out-10", title: "fan-out 10", run: clientLoad{fanOut: 10}.saturated, after: []string{limitName},
			figures: append(saturatedFigures("", atLeast(1300).onFastMachines(), goal{}), commits),
		}, {
			name: "filter", title: "fan-out 1, webhooks with a filter",
			run:     clientLoad{filter: matchingFilter}.saturated,
			figures: saturatedFigures("fan-out-1", goal{}, goal{}),
		}, {
			name: "filters-10", title: "fan-out 10, webhooks with filters",
			run:     clientLoad{fanOut: 10, filter: matchingFilter}.saturated,
			figures: saturatedFigures("fan-out-10", goal{}, goal{}),
		}, {
			name: "limit-20", title: "limit: 20 events/s", shared: true, run: clientLoad{limit: true, rate: 20}.paced,
			figures: pacedFigures(goal{}, goal{}, goal{}),
		}, {
			name: "rate-20", title: "20 events/s", run: clientLoad{rate: 20}.paced, after: []string{limitName},
			figures: append(pacedFigures(atMost(10), atMost(40), atMost(20)),
				figure{key: keyCPU, title: "the same, beside the limit", over: "limit-20"}),
		}, {
			name: "rate-200", title: "200 events/s", run: clientLoad{rate: 200}.paced, after: []string{limitName},
			figures: pacedFigures(atMost(20), atMost(70), goal{}),
		}, {
			name: "limit-500", title: "limit: 500 events/s", shared: true,
			run:     clientLoad{limit: true, rate: 500}.paced,
			figures: pacedFigures(goal{}, goal{}, goal{}),
		}, {
			name: "rate-500", title: "500 events/s", run: clientLoad{rate: 500}.paced, after: []string{limitName},
			figures: pacedFigures(atMost(50), atMost(150), goal{}),
		}, {
			name: "unordered", title: "six events of each order (-orders), committed at once",
			run: orders{ordering: app.OrderingNone}.run, figures: orderingFigures("", goal{}, goal{}),
		}, {
			name: "ordering", title: "the same, in order", run: orders{ordering: app.OrderingResource}.run,
			figures: orderingFigures("unordered", atLeast(0.7), atMost(0)),
		}, {
			name: "ordering-latency", title: "from the end of a delivery to the next of its order", run: turnLatency,
			figures: latencyFigures(atMost(50), goal{}),
		}, {
			name: "ordering-held", title: "20 events/s of other orders beside held-back deliveries (-held)",
			once: true, dirty: true, run: besideHeld,
			figures: append(latencyFigures(goal{}, goal{}), figure{key: keyAloneP50, title: "p50 ms without them"},
				figure{key: keyBesideAlone, title: "p50, beside / without", goal: atMost(1.2)}),
		}, {
			name: "kill", title: "worker killed at full speed, another started immediately", once: true, run: kill,
			figures: []figure{
				{key: keyFirst, title: "next delivery, s after the kill", goal: atMost(2)},
				{key: keyReady, title: "the other worker is ready, s after the kill"},
				{key: keyDoubled, title: "repeated attempts"},
			},
		}, {
			name: "without-temporal", title: "one of two workers loses Temporal", once: true, run: withoutTemporal,
			figures: append([]figure{{key: keyP90, title: "p90 ms", goal: atMost(1000)}},
				append(latencyFigures(goal{}, goal{}), figure{key: keyDoubled, title: "repeated attempts"})...),
		}, {
			name: "heals", title: "receivers respond with 500 for 4 s, then they heal", once: true, run: heals,
			figures: []figure{
				{key: keyLost, title: "lost deliveries", goal: atMost(0)},
				{key: keyDoubled, title: "repeated attempts"},
			},
		}, {
			name: "isolation", title: "healthy webhooks beside one whose receiver hangs, 200 events/s",
			once: true, dirty: true, run: isolation,
			figures: isolationFigures(),
		}, {
			name: "flood", title: "a neighbour commits events (-flood) with 100 webhooks", once: true, dirty: true,
			run: flood{workers: 1}.run, figures: floodFigures("", goal{}),
		}, {
			name: "flood-3", title: "the same with three workers", once: true, dirty: true,
			run: flood{workers: 3}.run, figures: floodFigures("flood", atLeast(2)),
		}, {
			name: "jobs", title: "a neighbour causes jobs and mails (-jobs)", once: true, dirty: true, run: jobs,
			figures: []figure{
				{key: keyLater, title: "password reset, s later than alone", goal: atMost(1)},
				{key: keyBeside, title: "slowest mail of another tenant, s"}, {key: keyAlone, title: "alone, s"},
			},
		},
	}
}

// orderingFigures returns the figures of a run with several events of each order.
func orderingFigures(over string, rate, inversions goal) []figure {
	return append(saturatedFigures(over, rate, goal{}),
		figure{key: keyInversions, title: "events that arrived before an earlier one of their order", goal: inversions})
}

// floodFigures returns the figures of a run beside a neighbour that commits many events.
func floodFigures(over string, work goal) []figure {
	return []figure{
		{key: keyP99, title: "p99 ms of other tenants", goal: atMost(500)},
		{key: keyP50, title: "p50 ms"}, {key: keyMax, title: "max ms"},
		{key: keyMade, title: "deliveries/s of the neighbour", over: over, goal: work},
		{key: keyDispatched, title: "dispatched/s", over: over},
	}
}

// workflowCases lists the cases relative to bare workflows.
func workflowCases() []benchCase {
	return []benchCase{
		{
			name: bareName, title: "bare limit of the Temporal server", shared: true, run: bareLimit,
			figures: []figure{{key: keyRate, title: "workflows/s"}, {key: keyCPU, title: "CPU ms each"}},
		}, {
			name: "strict", title: "strict mode", run: load{strict: true}.run,
			figures: saturatedFigures(bareName, atLeast(0.85), goal{}),
		}, {
			name: "bursts", title: "bursts", run: load{}.run,
			figures: saturatedFigures(bareName, atLeast(8), atMost(0.12)),
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
			name: "loaded-latency", title: "commit to arrival at 80 % of the burst capacity",
			run: loadedLatency, after: []string{"bursts"},
			figures: append(latencyFigures(goal{}, atMost(500)), figure{key: keyRate, title: "events/s"}),
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

// selectCases returns the cases of a comma-separated list of cases and tables with all cases that these need, in the
// order in which they run. An empty list selects all that do not run on demand only, and so does a table.
func selectCases(all []benchCase, only string) ([]benchCase, error) {
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.ContainsFunc(all, func(c benchCase) bool { return c.name == name || c.table == table(name) }) {
			return nil, fmt.Errorf("-only: unknown case %q; the cases are %s", name, caseNames(false))
		}
		wanted[name] = true
	}
	everything := len(wanted) == 0
	for _, c := range slices.Backward(all) { // a case needs earlier ones only
		if (everything || wanted[string(c.table)]) && !c.onDemand {
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
