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
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// options are what the command line says.
type options struct {
	events, rounds, stores int
	rate                   int
	pace                   time.Duration
	json                   bool
}

func main() {
	var o options
	flag.IntVar(&o.events, "n", 2000, "`events` of each round")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, each of a bare run and one of ours")
	flag.IntVar(&o.stores, "stores", 10, "stores among which the events are spread, one webhook each")
	flag.IntVar(&o.rate, "rate", 20, "events per second while latency is measured")
	flag.DurationVar(&o.pace, "pace", 20*time.Second, "how long latency is measured")
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

// report is what was measured.
type report struct {
	Rounds     []round `json:"rounds"`
	Ratio      float64 `json:"ratio"` // median of the rounds'
	LatencyP50 float64 `json:"latencyP50Ms"`
	LatencyP99 float64 `json:"latencyP99Ms"`
	Rate       int     `json:"rate"`
}

// round is a bare run and one of ours, one right after the other.
type round struct {
	Bare  figures `json:"bare"`
	Ours  figures `json:"ours"`
	Ratio float64 `json:"ratio"`
}

// figures are of one run.
type figures struct {
	Count     int     `json:"count"`
	PerSecond float64 `json:"perSecond"`
	CPU       cpu     `json:"cpuMsEach"` // per workflow
	Doubled   int     `json:"doubled"`
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
	bar := progressbar.NewOptions(o.rounds*2*o.events+int(o.pace.Seconds())*o.rate, progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription("building"), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	programs, err := harness.Build(ctx, dir)
	if err != nil {
		return err
	}
	bar.Describe("starting")
	infra, err := programs.StartInfra(ctx, filepath.Join(dir, "data"))
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

func (r report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t\t\tCPU ms each:\t\t\t\t")
	fmt.Fprintln(w, "run\tper s\tdoubled\tservice\tTemporal\tPostgreSQL\tsum\tratio\t")
	row := func(name string, f figures, ratio string) {
		fmt.Fprintf(w, "%s\t%.1f\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%s\t\n", name, f.PerSecond, f.Doubled, f.CPU.Service, f.CPU.Temporal, f.CPU.Postgres, f.CPU.sum(), ratio)
	}
	for i, round := range r.Rounds {
		row(fmt.Sprintf("bare %d", i+1), round.Bare, "")
		row(fmt.Sprintf("deliveries %d", i+1), round.Ours, fmt.Sprintf("%.2f", round.Ratio))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nratio to the bare limit, median: %.2f\ncommit to arrival at %d events/s: p50 %.1f ms, p99 %.1f ms\n",
		r.Ratio, r.Rate, r.LatencyP50, r.LatencyP99)
	return err
}
