// Package flags reads the command line of `go run ./app/dev`. The launcher and the program that it starts share it. It
// imports only the standard library, so that an invalid command line is an error before the program is built.
package flags

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Ports is the number of consecutive ports that begin with --port.
const Ports = 10

// Flags are the values of the flags.
type Flags struct {
	Data   string // directory for all data, logs and keys
	Port   int    // port of the API; the other ports follow it; 0 = free ports
	NoDemo bool   // create no demo data
	Infra  bool   // start only PostgreSQL, Temporal and its Web UI
	Quiet  bool   // print errors only
}

// Parse reads the command line. It returns flag.ErrHelp after printing the usage for -h.
func Parse(args []string, stderr io.Writer) (Flags, error) {
	var f Flags
	set := flag.NewFlagSet("dev", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.Data, "data", ".dev", "`DIR` for all data, logs and keys")
	set.IntVar(&f.Port, "port", 8443, "port of the API; the other ports follow it; 0 picks free ports")
	set.BoolVar(&f.NoDemo, "no-demo", false, "create no demo data")
	set.BoolVar(&f.Infra, "infra", false,
		"start only PostgreSQL, Temporal and its Web UI, and print the environment for comanda serve and worker")
	set.BoolVar(&f.Quiet, "quiet", false, "print errors only")
	if err := set.Parse(args); err != nil {
		return Flags{}, err
	}
	if set.NArg() > 0 {
		return Flags{}, fmt.Errorf("unexpected argument %q; run with -h for usage", set.Arg(0))
	}
	if last := 65535 - Ports + 1; f.Port < 0 || f.Port > last {
		return Flags{}, fmt.Errorf("--port must be from 1 to %d, or 0 for free ports", last)
	}
	if f.Data == "" {
		return Flags{}, errors.New("--data must name a directory")
	}
	return f, nil
}
