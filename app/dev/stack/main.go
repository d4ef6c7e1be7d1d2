// Program stack runs all of Comanda on one machine: PostgreSQL, a Temporal server with its Web UI, the API, a worker, a
// webhook receiver and demo data. It keeps its data between runs, and stops on Ctrl-C. `go run ./app/dev` builds and
// starts it.
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

	"github.com/comanda-dev/comanda/app/dev/flags"
)

// errInterrupted is the error of a start that a signal interrupted.
var errInterrupted = errors.New("interrupted while starting")

// stopTime limits a graceful stop of all parts.
const stopTime = 10 * time.Second

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe on standard output must not end the program
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(signals, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}

// run starts all parts and prints their addresses. It stops them gracefully at the first signal and immediately at the
// second one. It returns the exit code: 0, 1 for a failure, 2 for an invalid command line.
func run(signals <-chan os.Signal, args, environ []string, stdout, stderr io.Writer) int {
	f, err := flags.Parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		complain(stderr, err)
		return 2
	}
	if f.Quiet {
		stdout = io.Discard
	}
	events := &heldWriter{out: stdout}
	o := Options{Flags: f, Environ: environ, Out: events, Notice: stdout}
	interrupted, hurried := onSignals(signals)
	fmt.Fprintln(stdout, "Starting PostgreSQL, Temporal and Comanda …")
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

// startUntil starts all parts. If interrupted ends first, it stops the parts that run and returns errInterrupted. If
// hurried ends, it returns errInterrupted without waiting for them.
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

// onSignals returns two contexts, which end at the first and at the second signal.
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
