// Program bench measures deliveries against the real programs, beside the bare limit of the same
// Temporal server in the same run: as many eagerly started workflows with one empty local
// activity each.
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
	pace, within           time.Duration
	only, profile, against string
	json                   bool
	// Of the Temporal server, 0 = its default; see temporaldev.Tuning.
	visibilityRPS, partitions int
}

// tuning returns the variables with which the Temporal server starts.
func (o options) tuning() map[string]string {
	return map[string]string{
		"TEMPORALDEV_VISIBILITY_POLL_RPS": strconv.Itoa(o.visibilityRPS),
		"TEMPORALDEV_PARTITIONS":          strconv.Itoa(o.partitions),
	}
}

// setQuick sets the flags that the command line does not set to tiny sizes: every case runs, and no
// figure means anything.
func setQuick() error {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{
		"n": "100", "rounds": "1", "pace": "2s", "in-flight": "10", "neighbours": "20", "retries": "80", "scale": "200",
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

// gcPercent keeps the garbage collector of this process from running often: it shares the processors
// with the measured programs.
const gcPercent = 800

func main() {
	var o options
	flag.IntVar(&o.events, "n", 1200, "`deliveries` per round of the bare and strict runs; bursts get six times as many")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds; the report shows medians")
	flag.IntVar(&o.stores, "stores", 10, "stores among which the events are spread")
	flag.IntVar(&o.rate, "rate", 20, "events per second of the cases at a low rate")
	flag.DurationVar(&o.pace, "pace", 20*time.Second, "`duration` of each measurement at a steady rate")
	flag.IntVar(&o.inFlight, "in-flight", 100, "`attempts` in flight when a worker is killed")
	flag.IntVar(&o.neighbours, "neighbours", 1000, "`deliveries` to a receiver that hangs, beside a healthy one")
	flag.IntVar(&o.retries, "retries", 3000, "`deliveries` of the neighbour whose retries hang")
	flag.IntVar(&o.retryRate, "retry-rate", 40, "retries of that neighbour per second")
	flag.IntVar(&o.scale, "scale", 100_000, "`deliveries` that wait for a retry or a replay in the case scale")
	flag.DurationVar(&o.within, "within", 2*time.Hour, "`duration` after which scale adds no more deliveries")
	flag.StringVar(&o.only, "only", "", "`cases` to run, separated by commas, with those that they need: "+
		caseNames(false)+"; default: all except "+caseNames(true))
	flag.StringVar(&o.against, "against", "", "`program`: a comanda of another version, measured as a second baseline")
	flag.StringVar(&o.profile, "profile", "", "`file` for a CPU profile of the worker in the last saturated run")
	flag.IntVar(&o.visibilityRPS, "visibility-rps", 0, "visibility polls per `second` of a Temporal shard; 0: the default")
	flag.IntVar(&o.partitions, "partitions", 0, "`partitions` of each task queue; 0: the Temporal server's default")
	flag.BoolVar(&o.json, "json", false, "print the report as JSON")
	quick := flag.Bool("quick", false, "tiny sizes, to see that the cases work; flags that are given hold")
	bare := flag.String("bare", "", "internal: run bare workflows on the Temporal server at this `address`")
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
	default:
		debug.SetGCPercent(gcPercent)
		runtime.GOMAXPROCS(1) // enough for the receivers and the emitter, without threads that wake each other
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures the selected cases and prints the report. A case that fails is part of the report
// and makes run fail in the end.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
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
