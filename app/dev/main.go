// Program dev runs all of Comanda on one machine: PostgreSQL, a Temporal server with its Web UI, the API, a worker, a
// webhook receiver and demo data. It needs nothing but Go installed, keeps its data between runs and ends on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// errInterrupted says that the user did not wait for all to be up.
var errInterrupted = errors.New("interrupted while starting")

// stopTime is how long everything has to end.
const stopTime = 10 * time.Second

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader of our output who leaves early does not end us
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(signals, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run is the program: it starts everything, says so, and stops it at the first signal, in haste at the second. It
// returns the exit code.
func run(signals <-chan os.Signal, args, environ []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		complain(stderr, err)
		return 2
	}
	if o.Quiet {
		stdout = io.Discard
	}
	events := &heldWriter{out: stdout}
	o.Environ, o.Out, o.Notice = environ, events, stdout
	interrupted, hurried := onSignals(signals)
	fmt.Fprintln(stdout, "Starting …")
	stack, err := startUntil(interrupted, hurried, o)
	if err != nil {
		complain(stderr, err)
		return 1
	}
	stack.Ready.print(stdout, string(stack.data))
	events.release()
	code := 0
	select {
	case <-interrupted.Done():
	case err := <-stack.Failed():
		complain(stderr, err)
		code = 1
	}
	ctx, cancel := context.WithTimeout(hurried, stopTime)
	defer cancel()
	if err := stack.Stop(ctx); err != nil {
		complain(stderr, err)
		code = 1
	}
	return code
}

// startUntil starts everything. It gives up and tidies up when the first context ends, and leaves at once when the
// second does.
func startUntil(interrupted, hurried context.Context, o Options) (stack *Stack, err error) {
	started := make(chan struct{})
	go func() {
		defer close(started)
		stack, err = Start(interrupted, o)
	}()
	select {
	case <-started:
	case <-hurried.Done():
		return nil, errInterrupted
	}
	if err != nil && interrupted.Err() != nil {
		return nil, errInterrupted
	}
	return stack, err
}

// onSignals returns contexts that end with the first and with the second signal.
func onSignals(signals <-chan os.Signal) (first, second context.Context) {
	first, endFirst := context.WithCancel(context.Background())
	second, endSecond := context.WithCancel(context.Background())
	go func() {
		<-signals
		endFirst()
		<-signals
		endSecond()
	}()
	return first, second
}

// complain prints an error on one line.
func complain(stderr io.Writer, err error) {
	fmt.Fprintln(stderr, "comanda dev:", strings.NewReplacer(":\n", ": ", "\n", "; ").Replace(err.Error()))
}
