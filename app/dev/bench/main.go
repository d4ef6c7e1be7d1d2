// Program bench measures deliveries against the real programs, and in the same run the
// bare limit of the same Temporal server: as many eagerly started workflows with one empty
// local activity each. The ratio of the two is what our own work costs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// options are what the command line says.
type options struct {
	events, rounds, stores int
	rate, neighbours       int
	inFlight, scale        int
	pace, within           time.Duration
	only, profile          string
	json                   bool
	// Of the Temporal server, 0 = its default; see temporaldev.Tuning.
	visibilityRPS, partitions int
}

func main() {
	var o options
	flag.IntVar(&o.events, "n", 2000, "`events` of each round")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, each of a bare run and one of ours")
	flag.IntVar(&o.stores, "stores", 10, "stores among which the events are spread, one webhook each")
	flag.IntVar(&o.rate, "rate", 20, "events per second while latency is measured")
	flag.DurationVar(&o.pace, "pace", 20*time.Second, "how long latency is measured, each time")
	flag.IntVar(&o.inFlight, "in-flight", 100, "`attempts` under way when a worker is killed")
	flag.IntVar(&o.neighbours, "neighbours", 1000, "`deliveries` to a receiver that hangs, beside a healthy one")
	flag.IntVar(&o.scale, "scale", 100_000, "`deliveries` that wait for a retry or a replay, where scale is measured")
	flag.DurationVar(&o.within, "within", 2*time.Hour, "how long scale lets more deliveries fail")
	flag.StringVar(&o.only, "only", "throughput,latency,crash,isolation", "what is measured; there is also scale, which takes long")
	flag.StringVar(&o.profile, "profile", "", "`file` for a profile of the worker's processor time in the last round of throughput; look at it with go tool pprof")
	flag.IntVar(&o.visibilityRPS, "visibility-rps", 0, "how often per `second` a shard of the Temporal server takes up visibility records; 0 is the server's default")
	flag.IntVar(&o.partitions, "partitions", 0, "`partitions` of each task queue; 0 is the Temporal server's default")
	flag.BoolVar(&o.json, "json", false, "print the report as JSON")
	bare := flag.String("bare", "", "internal: be the bare worker, for this Temporal `address`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *bare != "" {
		err = runBare(ctx, *bare, o.events, os.Stdin, os.Stdout)
	} else {
		err = run(ctx, o, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// tuning returns the variables with which the Temporal server starts.
func (o options) tuning() map[string]string {
	return map[string]string{
		"TEMPORALDEV_VISIBILITY_POLL_RPS": strconv.Itoa(o.visibilityRPS),
		"TEMPORALDEV_PARTITIONS":          strconv.Itoa(o.partitions),
	}
}

// report is what was measured; what was not is left out.
type report struct {
	Rounds    []round      `json:"rounds,omitempty"`
	Ratio     float64      `json:"ratio,omitempty"` // median of the rounds'
	Rate      int          `json:"rate"`            // events per second where latency is measured
	Latency   *percentiles `json:"latency,omitempty"`
	Crash     *crash       `json:"crash,omitempty"`
	Isolation *isolation   `json:"isolation,omitempty"`
	Scale     *scale       `json:"scale,omitempty"`
}

// round is a bare run and one of ours, one right after the other.
type round struct {
	Bare  figures `json:"bare"`
	Ours  figures `json:"ours"`
	Ratio float64 `json:"ratio"`
}

// own is what the deliveries cost on top of the bare workflows, in milliseconds of processor
// time each.
func (r round) own() float64 { return r.Ours.CPU.own(r.Bare.CPU) }

// figures are of one run.
type figures struct {
	Count     int     `json:"count"`
	PerSecond float64 `json:"perSecond"`
	CPU       cpu     `json:"cpuMsEach"` // per workflow
	Doubled   int     `json:"doubled"`
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	dir, err := os.MkdirTemp("", "comanda-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another user
		return err
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription("building"), progressbar.OptionShowCount(),
		progressbar.OptionSetVisibility(isTerminal(stderr)), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	programs, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	bar.Describe("starting")
	infra, err := programs.StartInfraOn(ctx, 0, filepath.Join(dir, "data"), o.tuning())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		infra.Stop(ctx)
	}()
	b, err := newBench(ctx, o, programs, infra, bar)
	if err != nil {
		return err
	}
	defer b.close()
	report, err := b.measure(ctx)
	if err != nil {
		return err
	}
	bar.Finish()
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	return report.print(stdout)
}

// measure measures what is asked for. What disturbs comes last.
func (b *bench) measure(ctx context.Context) (r report, err error) {
	r.Rate = b.rate
	for _, one := range []struct {
		name    string
		measure func() error
	}{
		{"throughput", func() error { r.Rounds, r.Ratio, err = b.throughput(ctx); return err }},
		{"latency", func() error { r.Latency, err = b.latency(ctx); return err }},
		{"crash", func() error { r.Crash, err = b.crash(ctx); return err }},
		{"isolation", func() error { r.Isolation, err = b.isolation(ctx); return err }},
		{"scale", func() error { r.Scale, err = b.scaled(ctx); return err }},
	} {
		if slices.Contains(strings.Split(b.only, ","), one.name) {
			if err := one.measure(); err != nil {
				return r, fmt.Errorf("%s: %w", one.name, err)
			}
		}
	}
	return r, nil
}

func (r report) print(out io.Writer) error {
	if r.Rounds != nil {
		if err := r.printRounds(out); err != nil {
			return err
		}
	}
	if r.Latency != nil {
		fmt.Fprintf(out, "commit to arrival at %d events/s: %s\n", r.Rate, r.Latency)
	}
	if c := r.Crash; c != nil {
		fmt.Fprintf(out, "worker killed with %d attempts in flight: %d of them and %d others arrived twice, the last %.1f s after the next worker's start\n",
			c.InFlight, c.Repeated, c.Others, c.Seconds)
	}
	if i := r.Isolation; i != nil {
		fmt.Fprintf(out, "a healthy webhook at %d events/s beside one with %d deliveries that hangs:\n", r.Rate, i.Neighbours)
		fmt.Fprintf(out, "  undisturbed:                   %s\n  before the other is known:     %s\n  once it is known to be slow:   %s, %.2f and %.2f times undisturbed\n",
			i.Undisturbed, i.BeforeKnown, i.Known, i.RatioP50, i.RatioP99)
	}
	if r.Scale != nil {
		return r.Scale.print(out)
	}
	return nil
}

func (r report) printRounds(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t\t\tCPU ms each:\t\t\t\t\t\t")
	fmt.Fprintln(w, "run\tper s\tdoubled\tservice\tits SQL\tTemporal\tPostgreSQL else\tsum\tour own\tratio\t")
	row := func(name string, f figures, own, ratio string) {
		fmt.Fprintf(w, "%s\t%.1f\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t%s\t\n",
			name, f.PerSecond, f.Doubled, f.CPU.Service, f.CPU.SQL, f.CPU.Temporal, f.CPU.Postgres, f.CPU.sum(), own, ratio)
	}
	for i, round := range r.Rounds {
		row(fmt.Sprintf("bare %d", i+1), round.Bare, "", "")
		row(fmt.Sprintf("deliveries %d", i+1), round.Ours, fmt.Sprintf("%.2f", round.own()), fmt.Sprintf("%.2f", round.Ratio))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nratio to the bare limit, median: %.2f\n", r.Ratio)
	return err
}
