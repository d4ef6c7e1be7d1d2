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
	err  error         // of cmd.Wait; read it after done is closed
}

// command prepares a program that runs as the home's account, without PostgreSQL's variables of the
// caller's environment. When ctx ends, the program and its children are killed.
func (h *home) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Dir = h.path
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PG")
	}), "LC_ALL=C", "TZ=UTC")
	// Ctrl-C in a terminal signals a whole process group. A separate group leaves the end of the server to Stop.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: h.runAs.credential()}
	return cmd
}

// spawn starts cmd and copies its output to log.
func spawn(cmd *exec.Cmd, log io.Writer) (*process, error) {
	p := &process{cmd: cmd, tail: &tail{}, done: make(chan struct{})}
	output := io.MultiWriter(p.tail, log)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	endWithParent(cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		// The kernel ends the child when the thread that created it ends. Therefore the thread must exist as long as
		// the child.
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

// endsWithin sends a signal and reports whether the process ended before ctx.
func (p *process) endsWithin(ctx context.Context, signal syscall.Signal) bool {
	_ = p.cmd.Process.Signal(signal) // fails only if the process has ended
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends postgres as documented at Server.Stop. SIGINT requests a fast shutdown, SIGQUIT an
// immediate one.
func (p *process) stop(ctx context.Context) error {
	if p.endsWithin(ctx, syscall.SIGINT) {
		return nil
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if !p.endsWithin(grace, syscall.SIGQUIT) {
		p.endsWithin(context.WithoutCancel(ctx), syscall.SIGKILL)
	}
	return fmt.Errorf("PostgreSQL was stopped immediately: %w", ctx.Err())
}

// wait waits until a program ends and returns the reason if it failed.
func (p *process) wait() error {
	<-p.done
	if p.err != nil {
		return fmt.Errorf("%w: %s", p.err, p.tail.reason())
	}
	return nil
}

// tail stores the end of a program's output for error messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is the size of a tail in bytes. It suffices for the last lines of a failed server.
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

// contains reports whether the tail contains a text.
func (t *tail) contains(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.text, []byte(text))
}

// reason returns the reason of a failure in one line: the lines from the first fatal error on,
// otherwise the last lines. It removes the time and the process id at the beginning of the server's
// lines.
func (t *tail) reason() string {
	const most = 3
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.text)), "\n")
	start := slices.IndexFunc(lines, func(line string) bool {
		return strings.Contains(line, "FATAL:") || strings.Contains(line, "PANIC:") ||
			strings.Contains(line, "initdb: error:")
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
