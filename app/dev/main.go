// Program dev runs all of Comanda on one machine. It needs only Go. It builds the program in app/dev/stack, shows the
// progress, and becomes that program. The first build takes minutes, because that program contains the Temporal server.
// This launcher imports little of the standard library, so that `go run` compiles it within seconds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/comanda-dev/comanda/app/dev/flags"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe on standard output must not end the program
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	program, code := prepare(signals, os.Args[1:], os.Stdout, os.Stderr)
	if code >= 0 {
		os.Exit(code)
	}
	// A signal is either in the channel, or ends the program as it does by default.
	signal.Stop(signals)
	select {
	case s := <-signals:
		os.Exit(exitCode(s))
	default:
	}
	err := syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
	os.Exit(fail(os.Stderr, err))
}

// prepare builds the program and returns its path and -1. If it must not run, prepare returns the exit code: 0 after
// printing the usage, 1 for a failure, 2 for an invalid command line, or 128 plus the number of the signal that
// interrupted the build.
func prepare(signals <-chan os.Signal, args []string, stdout, stderr *os.File) (program string, code int) {
	f, err := flags.Parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return "", 0
	}
	if err != nil {
		fail(stderr, err)
		return "", 2
	}
	dir, err := moduleDir()
	if err != nil {
		return "", fail(stderr, err)
	}
	screen := screen{out: stdout, terminal: isTerminal(stdout), now: time.Now}
	if f.Quiet {
		screen.out, screen.terminal = io.Discard, false
	}
	program = filepath.Join(dir, "..", "..", "bin", "dev")
	b := build{dir: dir, pkg: "./stack", output: program, progress: newProgress(&screen), stderr: stderr}
	err = b.run(signals)
	var interrupt interruption
	switch {
	case errors.As(err, &interrupt):
		return "", exitCode(interrupt.signal)
	case err != nil:
		return "", fail(stderr, err)
	}
	return program, -1
}

// moduleDir returns the directory of this module, which is that of this file.
func moduleDir() (string, error) {
	if _, file, _, _ := runtime.Caller(0); filepath.IsAbs(file) {
		return filepath.Dir(file), nil
	}
	// The program was compiled with -trimpath.
	const module = "github.com/comanda-dev/comanda/app/dev"
	out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find the source code of this program: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// isTerminal reports whether a file is probably a terminal that understands escape sequences. Other devices, such as
// /dev/null, do no harm.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// exitCode returns the exit code of a program that a signal has ended, as shells report it.
func exitCode(s os.Signal) int {
	number, _ := s.(syscall.Signal)
	return 128 + int(number)
}

// fail prints an error and returns the exit code of a failure.
func fail(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "comanda dev:", err)
	return 1
}
