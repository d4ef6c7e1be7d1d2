// Program hosts runs Comanda on three hosts and disturbs them, while clients place orders. The hosts are network
// namespaces of this machine: two with an API and a worker, and one with PostgreSQL and Temporal. It prints a table of
// the faults, and fails if an event is lost. It needs Linux, root and iproute2; without them, it does nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	rate    float64
	lasts   time.Duration
	timeout time.Duration
	only    string
}

// lead is the time with load before and after each fault.
const lead = 5 * time.Second

func main() {
	var o options
	flag.Float64Var(&o.rate, "rate", 5, "orders per second of all clients")
	flag.DurationVar(&o.lasts, "lasts", 20*time.Second, "duration of each fault")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time within which all events of a fault must arrive")
	flag.StringVar(&o.only, "only", "", "run only the faults whose names contain this text")
	flag.Parse()
	if flag.NArg() > 0 || o.rate <= 0 || o.lasts <= 0 || o.timeout <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if reason := missing(ctx); reason != "" {
		stop()
		fmt.Println("skipped:", reason)
		return
	}
	err := test(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

// test runs the faults and prints their table. It returns an error if an event is lost, or if a result is not
// acceptable otherwise.
func test(ctx context.Context, o options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "comanda-hosts-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL runs as another user
		return err
	}
	i := &installation{network: newNetwork(), hosts: map[string]*host{}, unready: map[string]bool{}}
	running, end := context.WithCancel(ctx)
	defer func() {
		end()
		err = errors.Join(err, i.stop())
	}()
	progress := func(text string) { fmt.Fprintln(out, text) }
	if err := i.start(running, dir, progress); err != nil {
		return err
	}
	progress(i.describe(o))
	var rounds []round
	for _, f := range faults {
		if !strings.Contains(f.name, o.only) {
			continue
		}
		r, err := i.disturb(running, f, o)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		rounds = append(rounds, r)
		progress(fmt.Sprintf("%s: %d orders, %d have not arrived", f.name, len(r.placed), i.ledger.missing(r.placed)))
		for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
			progress(fmt.Sprintf("  %d repeated requests: %s", r.reasons[reason], reason))
		}
	}
	list := rows(rounds, i.ledger.all())
	fmt.Fprintln(out)
	errs := []error{printTable(out, list)}
	for _, r := range list {
		errs = append(errs, r.check())
	}
	return errors.Join(errs...)
}

// describe describes the machine and the network.
func (i *installation) describe(o options) string {
	links := "netem delays and drops packets"
	if !i.network.netem {
		links = "the kernel has no netem: proxies delay PostgreSQL and Temporal, and a queue without room drops packets"
	}
	return fmt.Sprintf("%d cores, %g orders/s, %s on each link, %g %% loss (%s)",
		runtime.NumCPU(), o.rate, linkDelay, linkLoss, links)
}

// disturb runs a fault while clients place orders, and waits until all events have arrived, for the timeout at most.
func (i *installation) disturb(ctx context.Context, f fault, o options) (round, error) {
	r := round{fault: f.name, strict: f.strict, begin: time.Now()}
	l := newLoad(ctx, i.caller, i.order, fmt.Sprintf("round-%d", r.begin.UnixNano()), o.rate)
	failed := wait(ctx, lead)
	if failed == nil {
		failed = f.run(ctx, i, o.lasts)
	}
	r.healed = time.Now()
	if failed == nil {
		failed = wait(ctx, lead)
	}
	var err error
	r.placed, r.reasons, err = l.stop()
	if err := errors.Join(failed, err); err != nil {
		return r, err
	}
	deadline := time.Now().Add(o.timeout)
	for i.ledger.missing(r.placed) > 0 && time.Now().Before(deadline) {
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return r, err
		}
	}
	return r, nil
}
