// Program judge tests that Comanda loses nothing. It runs an installation, whose clients make all kinds of operations,
// disturbs it, and then compares everything that the clients and the receivers have seen with the database. It prints a
// table of the operations by fault, and fails if something happened that must not happen.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// options are the flags.
type options struct {
	lasts      time.Duration // of the operations and faults
	ends       time.Duration // within which everything must have ended after them
	seed       uint64
	seeds      int // number of runs, each with the next seed
	faults     []fault
	first      []fault  // with which the nemesis begins, if they are selected; the seed decides the order of the others
	omitted    []string // faults that this machine cannot run, with the reasons
	operations span
	each       bool // each fault runs at least once, even after the operations
	keep       bool
	moved      string // directory to which the directory of a run is moved if it is kept; "" = it stays
	shrink     bool

	isolation bool
	sites     []string // that make operations
	alone     delays   // of the quiet restaurant in a run of its own; nil = are not compared
	measured  delays   // receives the delays of the run; nil = they are not measured
	total     *totals  // receives what the run has made
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err = judge(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string, stderr io.Writer) (options, error) {
	o := options{operations: all, sites: everywhere}
	set := flag.NewFlagSet("judge", flag.ContinueOnError)
	set.SetOutput(stderr)
	seconds := set.Int("seconds", 60, "duration of the operations and faults")
	ends := set.Int("ends", 300, "seconds within which everything must have ended after them")
	set.Uint64Var(&o.seed, "seed", 0, "seed of the operations and faults; 0 chooses one")
	set.IntVar(&o.seeds, "seeds", 1, "number of runs, each with the next seed")
	names := set.String("faults", "", "names of the faults, separated by commas, or none; all by default")
	first := set.String("first", "", "names of the faults to begin with, in this order")
	set.Var(&o.operations, "operations", "numbers of the operations to make, as FIRST-LAST; all by default")
	set.BoolVar(&o.isolation, "isolation", false, "compare the delays of the quiet restaurant with a run of it alone")
	set.BoolVar(&o.shrink, "shrink", false, "after a failure, search for a shorter run that fails, for at most 30 minutes")
	set.BoolVar(&o.keep, "keep", false, "keep logs and database also after success")
	set.Usage = func() {
		fmt.Fprintln(stderr, "Usage of judge:")
		set.PrintDefaults()
		fmt.Fprintln(stderr, "Faults:")
		for _, f := range faults {
			fmt.Fprintf(stderr, "  %-26s%s\n", f.name, f.text)
		}
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	if set.NArg() > 0 || *seconds <= 0 || *ends <= 0 || o.seeds <= 0 {
		return o, errors.New("invalid arguments; run with -h for usage")
	}
	o.lasts, o.ends = time.Duration(*seconds)*time.Second, time.Duration(*ends)*time.Second
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano()) //nolint:gosec // positive
	}
	var err error
	if o.first, err = namedFaults(*first); err != nil {
		return o, err
	}
	o.faults, o.omitted, err = selectFaults(*names)
	return o, err
}

// judge makes the runs, and searches for a shorter one of each that fails if the options ask for it. Each run begins
// with the faults for which the run before it had no time, so that all faults occur equally often. All runs together
// must have made the required operations, and a series of an hour or more each fault.
func judge(ctx context.Context, o options, out io.Writer) error {
	if o.total == nil {
		o.total = &totals{}
	}
	for _, text := range o.omitted {
		fmt.Fprintln(out, "This machine cannot run", text)
	}
	var failed error
	for range o.seeds {
		if ctx.Err() != nil {
			return errors.Join(failed, ctx.Err())
		}
		failed = errors.Join(failed, judgeSeed(ctx, o, out))
		o.seed++
		var err error
		if o.first, err = namedFaults(o.total.rest); err != nil {
			return err
		}
	}
	if o.seeds > 1 {
		failed = errors.Join(failed, o.total.print(out))
	}
	if !o.whole() {
		return failed
	}
	missing, rare := o.total.unsuccessful()
	for _, text := range rare {
		fmt.Fprintf(out, "Tried fewer than %d times: %s\n", leastTries, text)
	}
	missing = slices.Concat(missing, o.total.unused(o.faults), o.total.unjudged())
	for _, text := range missing {
		fmt.Fprintln(out, text)
	}
	if len(missing) > 0 {
		failed = errors.Join(failed, fmt.Errorf("violated: %d requirements of a series", len(missing)))
	}
	return failed
}

// judgeSeed makes the run of a seed, and searches for a shorter one if it fails and the options ask for it.
func judgeSeed(ctx context.Context, o options, out io.Writer) error {
	fmt.Fprintf(out, "Seed %d, %s, bursts %s\n", o.seed, o.lasts, burstsOf(o.seed))
	if o.seeds > 1 {
		fmt.Fprintln(out, "Repeat it:", o.command())
	}
	dir, err := trial(ctx, o, out)
	if dir != "" {
		fmt.Fprintf(out, "Logs and database: %s\n", dir)
	}
	if violated, ok := errors.AsType[*violatedError](err); ok && o.shrink {
		shrinkRun(ctx, o, violated, out)
	}
	return err
}

// trial runs an installation in a temporary directory, which it returns if it keeps it, as after a failure.
func trial(ctx context.Context, o options, out io.Writer) (dir string, err error) {
	dir, err = os.MkdirTemp(localpg.TempDir(), "comanda-judge-*")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL may run as another user
		return "", err
	}
	if o.isolation {
		err = compare(ctx, o, dir, out)
	} else {
		err = run(ctx, o, dir, out)
	}
	if ctx.Err() != nil || err != nil && strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) ||
		err == nil && !o.keep {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if o.moved != "" {
		kept := filepath.Join(o.moved, filepath.Base(dir))
		return kept, errors.Join(err, command("mv", dir, kept))
	}
	return dir, err
}
