package main

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestShortRun makes operations and a few faults, all of which run. Without PostgreSQL, the test is skipped, but in CI
// it fails. The directory of a failed run is kept, although .ci/run deletes the temporary ones.
func TestShortRun(t *testing.T) {
	t.Parallel()
	names := "kill-worker,worker-without-postgres,suspend-worker,restart-postgres,rolling-restart"
	selected, _, err := selectFaults(names)
	if err != nil {
		t.Fatal(err)
	}
	o := options{
		lasts: time.Minute, ends: 5 * time.Minute, seed: 1, seeds: 1, faults: selected, operations: all,
		sites: everywhere, each: true, moved: "/var/tmp", total: &totals{},
	}
	err = judge(t.Context(), o, t.Output())
	if err != nil && os.Getenv("CI") != "true" && strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) {
		t.Skip(err)
	}
	if err != nil {
		t.Error(err)
	}
	for _, f := range selected {
		if o.total.faults[f.name] == 0 {
			t.Errorf("%s never ran", f.name)
		}
	}
}

// TestParse checks the flags.
func TestParse(t *testing.T) {
	t.Parallel()
	args := []string{"--seconds", "600", "--seed", "7", "--faults", "kill-worker", "--operations", "3-9", "--seeds", "10"}
	o, err := parse(args, t.Output())
	if err != nil || o.lasts != 10*time.Minute || o.seed != 7 || len(o.faults) != 1 || o.operations != (span{3, 9}) ||
		o.seeds != 10 {
		t.Errorf("got %+v, error %v", o, err)
	}
	for _, args := range [][]string{
		{"--faults", "flood"}, {"--first", "flood"}, {"--seconds", "0"}, {"--seeds", "0"}, {"now"}, {"--operations", "x"},
	} {
		if _, err := parse(args, t.Output()); err == nil || err == flag.ErrHelp {
			t.Errorf("%v: got error %v, want one", args, err)
		}
	}
}
