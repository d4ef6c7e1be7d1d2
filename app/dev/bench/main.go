// Program bench measures deliveries with the real programs. In the same run, it measures two limits of the same
// machine: a minimal sender without workflows on the same PostgreSQL server, and bare workflows of the same Temporal
// server, which are started eagerly and have one empty local activity each.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	events, rounds, stores int
	rate, neighbours       int
	retries, retryRate     int
	inFlight, scale        int
	flood, jobs            int
	orders, held           int
	pace, outage, within   time.Duration
	only, profile, against string
	json                   bool
	// Settings of the Temporal server, 0 = its default; see temporaldev.Tuning.
	visibilityRPS, partitions int
}

// check returns an error for sizes that no case can run with.
func (o options) check() error {
	for _, size := range []struct {
		name         string
		value, least int
	}{
		{"n", o.events, 50}, {"rounds", o.rounds, 1}, {"stores", o.stores, 10}, {"rate", o.rate, 1},
		{"in-flight", o.inFlight, 1}, {"neighbours", o.neighbours, 1}, {"retries", o.retries, 1},
		{"retry-rate", o.retryRate, 1}, {"flood", o.flood, 1}, {"jobs", o.jobs, 1}, {"orders", o.orders, 1},
		{"held", o.held, 1}, {"scale", o.scale, 100},
	} {
		if size.value < size.least {
			return fmt.Errorf("-%s must be at least %d", size.name, size.least)
		}
	}
	if o.pace < time.Second {
		return errors.New("-pace must be at least 1s")
	}
	return nil
}

// tuning returns the variables with which the Temporal server starts.
func (o options) tuning() map[string]string {
	return map[string]string{
		"TEMPORALDEV_VISIBILITY_POLL_RPS": strconv.Itoa(o.visibilityRPS),
		"TEMPORALDEV_PARTITIONS":          strconv.Itoa(o.partitions),
	}
}

// setQuick sets the flags that the command line does not set to tiny sizes. Every case runs, but the figures are
// meaningless.
func setQuick() error {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{
		"n": "100", "rounds": "1", "pace": "2s", "outage": "2s", "in-flight": "10", "neighbours": "20", "flood": "20",
		"jobs": "20", "orders": "20", "held": "200", "retries": "80", "scale": "200",
	} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// gcPercent makes the garbage collector of this process run rarely, because this process shares the processors with the
// measured programs.
const gcPercent = 800

func main() {
	var o options
	flag.IntVar(&o.events, "n", 1200,
		"`deliveries` per round of the bare and strict runs; bursts get six times as many")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; the report shows medians")
	flag.IntVar(&o.stores, "stores", 10, "stores among which the events are spread")
	flag.IntVar(&o.rate, "rate", 20, "events per second of healthy webhooks beside failures")
	flag.DurationVar(&o.pace, "pace", 20*time.Second, "`duration` of each measurement at a steady rate")
	flag.DurationVar(&o.outage, "outage", 45*time.Second, "`duration` for which a worker loses Temporal")
	flag.IntVar(&o.inFlight, "in-flight", 100, "`attempts` in flight when a worker is killed")
	flag.IntVar(&o.neighbours, "neighbours", 1000, "`deliveries` that are committed when a receiver begins to hang")
	flag.IntVar(&o.flood, "flood", 5000, "`events` of a neighbour with 100 webhooks")
	flag.IntVar(&o.jobs, "jobs", 1000, "`jobs` of a neighbour, and as many mails")
	flag.IntVar(&o.orders, "orders", 1000, "`orders` whose events are delivered in order")
	flag.IntVar(&o.held, "held", 100_000, "held-back `deliveries` of one order")
	flag.IntVar(&o.retries, "retries", 3000, "`deliveries` of the neighbour whose retries hang")
	flag.IntVar(&o.retryRate, "retry-rate", 40, "retries of that neighbour per second")
	flag.IntVar(&o.scale, "scale", 100_000, "`deliveries` that wait for a retry or a replay in the case scale")
	flag.DurationVar(&o.within, "within", 2*time.Hour, "`duration` after which scale adds no more deliveries")
	flag.StringVar(&o.only, "only", "", "`cases` or tables to run, separated by commas, with those that they need: "+
		caseNames(false)+"; tables: "+string(tableClients)+", "+string(tableWorkflows)+"; default: all except "+
		caseNames(true))
	flag.StringVar(&o.against, "against", "", "`program`: a comanda of another version, measured as a second baseline")
	flag.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of the worker in the last saturated run")
	flag.IntVar(&o.visibilityRPS, "visibility-rps", 0,
		"visibility polls per `second` of a Temporal shard; 0: as in dev")
	flag.IntVar(&o.partitions, "partitions", 0, "`partitions` of each task queue; 0: the Temporal server's default")
	flag.BoolVar(&o.json, "json", false, "print the report as JSON")
	quick := flag.Bool("quick", false, "use tiny sizes to check that the cases work; other flags override them")
	bare := flag.String("bare", "", "internal: run bare workflows on the Temporal server at this `address`")
	minimal := flag.Bool("minimal", false, "internal: run the minimal sender with the environment of a worker")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *quick {
		err = setQuick()
	}
	switch {
	case err != nil:
	case *bare != "":
		err = runBare(ctx, *bare, os.Stdin, os.Stdout)
	case *minimal:
		err = runMinimal(ctx)
	default:
		debug.SetGCPercent(gcPercent)
		runtime.GOMAXPROCS(1) // enough for the clients and the receivers, without threads that wake each other
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the selected cases and prints the report. The report includes failed cases, and run returns their
// errors.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	selected, err := selectCases(cases(), o.only)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer b.close()
	stopped := b.measure(ctx, selected)
	err = errors.Join(append(b.results.failures, stopped)...)
	if len(b.results.samples) == 0 {
		return err
	}
	report := newReport(b, selected, b.results)
	b.screen.clear()
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return errors.Join(err, encoder.Encode(report))
	}
	return errors.Join(err, report.print(stdout))
}
