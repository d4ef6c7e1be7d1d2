package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/app/dev/temporaldev"
)

// Options says what to start.
type Options struct {
	Data   string // directory in which everything is kept
	Port   int    // the API's; the others follow it; 0 takes free ones
	NoDemo bool   // no demo data
	Infra  bool   // PostgreSQL, Temporal and its Web UI alone
	Quiet  bool   // print errors only

	// Environ are environment variables, as from os.Environ.
	Environ []string
	// Out receives the webhook receiver's lines; nil discards them.
	Out io.Writer
	// Notice receives one line when the start waits for a killed run to end; nil discards it.
	Notice io.Writer
}

// parseFlags reads the command line. It returns flag.ErrHelp when that asks for help.
func parseFlags(args []string, stderr io.Writer) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.Data, "data", ".dev", "keep everything in `DIR`")
	flags.IntVar(&o.Port, "port", 8443, "port of the API; the others follow it; 0 takes free ones")
	flags.BoolVar(&o.NoDemo, "no-demo", false, "make no demo data")
	flags.BoolVar(&o.Infra, "infra", false, "start PostgreSQL, Temporal and its Web UI alone, for comanda serve and worker beside it")
	flags.BoolVar(&o.Quiet, "quiet", false, "print errors only")
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("what is %q? There are flags only, see -h", flags.Arg(0))
	}
	if last := 65535 - int(portCount) + 1; o.Port < 0 || o.Port > last {
		return Options{}, fmt.Errorf("--port wants a number from 1 to %d, or 0", last)
	}
	if o.Data == "" {
		return Options{}, errors.New("--data wants a directory")
	}
	return o, nil
}

// env returns an environment variable.
func (o Options) env(name string) string {
	for _, variable := range o.Environ {
		if key, value, _ := strings.Cut(variable, "="); key == name {
			return value
		}
	}
	return ""
}

// Environment variables that change the Temporal server for experiments, see temporaldev.Tuning. The bench sets them.
const (
	visibilityPollRPS = "TEMPORALDEV_VISIBILITY_POLL_RPS"
	partitions        = "TEMPORALDEV_PARTITIONS"
)

// tuning reads the variables that change the Temporal server.
func (o Options) tuning() (tuning temporaldev.Tuning, err error) {
	for name, value := range map[string]*int{
		visibilityPollRPS: &tuning.VisibilityPollRPS,
		partitions:        &tuning.Partitions,
	} {
		text := o.env(name)
		if text == "" {
			continue
		}
		if *value, err = strconv.Atoi(text); err != nil || *value < 0 {
			return tuning, fmt.Errorf("%s must be a number from 0, not %q", name, text)
		}
	}
	return tuning, nil
}

// sets tells whether the environment has a variable whose name begins with a prefix.
func (o Options) sets(prefix string) bool {
	return slices.ContainsFunc(o.Environ, func(variable string) bool { return strings.HasPrefix(variable, prefix) })
}

// settings are the environment of the product: what is decided here, and on top the caller's COMANDA_ variables, save
// those that the flags decide.
func (o Options) settings(decided, defaults map[string]string) map[string]string {
	settings := map[string]string{}
	for name, value := range defaults {
		settings[name] = value
	}
	for _, variable := range o.Environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "COMANDA_") {
			settings[name] = value
		}
	}
	for name, value := range decided {
		settings[name] = value
	}
	return settings
}
