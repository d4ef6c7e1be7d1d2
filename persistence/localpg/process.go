//go:build unix

package localpg

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a running postgres or initdb.
type process struct {
	cmd  *exec.Cmd
	tail *tail
	done chan struct{} // closed when it has ended
	err  error         // how it ended; to be read after done
}

// command prepares a program that runs as the home's account, is not told by the caller's environment how to behave,
// and is killed with its children when ctx ends.
func (h *home) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = h.path
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PG")
	}), "LC_ALL=C", "TZ=UTC")
	// A group of its own, since a terminal's Ctrl-C goes to every process of a group and this one is ours to end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.who.credential()}
	return cmd
}

// spawn starts cmd and copies what it prints to log.
func spawn(cmd *exec.Cmd, log io.Writer) (*process, error) {
	p := &process{cmd: cmd, tail: &tail{}, done: make(chan struct{})}
	output := io.MultiWriter(p.tail, log)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	endWithParent(cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		// The kernel takes the end of the thread that forked for the end of the parent, so the thread has to live as
		// long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, <-started
}

// endsWithin sends a signal and tells whether the process ended before ctx did.
func (p *process) endsWithin(ctx context.Context, signal syscall.Signal) bool {
	_ = p.cmd.Process.Signal(signal) // it fails only for a process that has ended
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends postgres as Server.Stop says. To postgres SIGINT means a fast shutdown, SIGQUIT an immediate one.
func (p *process) stop(ctx context.Context) error {
	if p.endsWithin(ctx, syscall.SIGINT) {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if !p.endsWithin(grace, syscall.SIGQUIT) {
		p.endsWithin(context.WithoutCancel(ctx), syscall.SIGKILL)
	}
	return fmt.Errorf("PostgreSQL was stopped in haste: %w", ctx.Err())
}

// wait waits for a program that ends by itself, and says why it failed if it did.
func (p *process) wait() error {
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.tail.reason())
	}
	return nil
}

// tail keeps the end of what is written to it, for error messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is how many bytes a tail keeps, enough for the lines with which a server gives up.
const tailSize = 4096

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if surplus := len(t.text) - tailSize; surplus > 0 {
		t.text = slices.Delete(t.text, 0, surplus)
	}
	return len(text), nil
}

// contains tells whether the tail holds a text.
func (t *tail) contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.text, []byte(text))
}

// reason returns on one line why a program gave up: the lines from its first fatal error on, else the last ones, without
// the time and process id with which the server begins each.
func (t *tail) reason() string {
	const most = 3
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	start := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, "FATAL:") || strings.Contains(line, "PANIC:") || strings.Contains(line, "initdb: error:")
	})
	if start < 0 {
		start = max(0, len(lines)-most)
	}
	lines = lines[start:min(len(lines), start+most)]
	for i, line := range lines {
		if _, message, found := strings.Cut(line, "] "); found {
			line = message
		}
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, " / ")
}
