package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// redraw is the time between two updates of the progress.
const redraw = 100 * time.Millisecond

// build is one run of `go build`.
type build struct {
	dir    string // working directory of go
	pkg    string
	output string   // path of the program
	env    []string // nil is the environment of this process
	// progress shows the progress. stderr receives the messages of go.
	progress *progress
	stderr   io.Writer

	interrupted atomic.Bool
	counting    sync.WaitGroup // the run of count
	counted     bool           // count was started
}

// interruption is the error of a build that a signal ended.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return "interrupted by " + i.signal.String() }

// run builds the program. At the first signal it interrupts go and its compilers, and at the second one it kills them.
// When go has ended, it kills the compilers that still run, so that none is left. The packages compiled so far remain
// in Go's cache.
func (b *build) run(signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer b.counting.Wait()
	defer cancel()
	// Like go run, without debug information and without the commit, which would make each commit link the program.
	command := exec.CommandContext(ctx, "go", "build", "-v", "-buildvcs=false", "-ldflags=-s -w", "-o", b.output, b.pkg)
	command.Dir, command.Env = b.dir, b.env
	command.Stderr = &lines{each: func(line string) { b.line(ctx, line) }}
	// A separate process group, so that a signal reaches all compilers, and once.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return err
	}
	group := -command.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	var first os.Signal
	for {
		select {
		case <-ticker.C:
			b.progress.draw()
		case s := <-signals:
			deadly := syscall.SIGKILL
			if first == nil {
				first, deadly = s, syscall.SIGINT
				b.interrupted.Store(true)
			}
			_ = syscall.Kill(group, deadly)
		case err := <-ended:
			if first != nil {
				_ = syscall.Kill(group, syscall.SIGKILL) // compilers that ignore SIGINT, for which go does not wait
				b.progress.interrupt()
				return interruption{first}
			}
			if err != nil {
				b.progress.fail()
				return fmt.Errorf("the build failed: %w", err)
			}
			b.progress.end()
			return nil
		}
	}
}

// line handles one line of the output of `go build -v`: a download, the import path of a package whose compilation
// begins, or a message. After an interruption, the messages only tell that the compilers have ended.
func (b *build) line(ctx context.Context, line string) {
	if b.interrupted.Load() {
		return
	}
	if module, ok := strings.CutPrefix(line, "go: downloading "); ok {
		b.progress.download(module)
		return
	}
	if line == "" || strings.ContainsAny(line, " \t:#") {
		b.progress.message(b.stderr, line)
		return
	}
	b.progress.compile(line)
	if !b.counted {
		b.counted = true
		b.counting.Go(func() { b.count(ctx) })
	}
}

// count finds the packages that are not in Go's cache. It runs only if there are some, because it takes a second.
func (b *build) count(ctx context.Context) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", b.pkg)
	command.Dir, command.Env = b.dir, b.env
	if out, err := command.Output(); err == nil { // otherwise the progress has no total, and go build reports the error
		b.progress.need(strings.Fields(string(out)))
	}
}

// lines is a writer that calls a function for each line.
type lines struct {
	each    func(string)
	partial []byte
}

func (l *lines) Write(text []byte) (int, error) {
	l.partial = append(l.partial, text...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		l.each(string(line))
		l.partial = rest
	}
}
