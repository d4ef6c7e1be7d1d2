//go:build unix

package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// endingTime is the maximum time to wait for a server that is ending. PostgreSQL gives its children 5 s to follow an
	// immediate shutdown, and the kernel first completes the started writes of a killed process.
	endingTime = 15 * time.Second
	// noticeTime is the duration of a wait after which its reason is written.
	noticeTime = time.Second
	// pollTime is the pause between two attempts.
	pollTime = 50 * time.Millisecond
)

// await calls try until it succeeds. When try fails, it returns the time, counted from the first call, for which await
// repeats it; after that time await returns the error of try. If ctx ends, the error wraps the cause. A wait longer
// than a second writes one line to notice.
func await(ctx context.Context, notice io.Writer, try func() (most time.Duration, err error)) error {
	began := time.Now()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for noticed := false; ; {
		most, err := try()
		waited := time.Since(began)
		if err == nil || waited >= most {
			return err
		}
		if !noticed && waited >= noticeTime {
			noticed = true
			fmt.Fprintf(notice, "Waiting up to %v: %v\n", most, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting: %w", context.Cause(ctx), err)
		case <-poll.C:
		}
	}
}

// AwaitFormer waits until no server runs on the data of o.Dir, which may be missing. Like Start, it
// waits for a server that is ending. If the server continues, AwaitFormer returns the same error as
// Start.
func AwaitFormer(ctx context.Context, o Options) error {
	o.setDefaults()
	h := &home{path: o.Dir}
	return await(ctx, o.Notice, h.checkFormer)
}

// checkFormer returns an error while the last server of the cluster has not ended, and the time for which waiting is
// useful.
func (h *home) checkFormer() (most time.Duration, err error) {
	pid := h.postmaster()
	if pid == 0 || hasEnded(pid) || !worksIn(pid, h.data()) { // a server works in its data directory
		return 0, nil
	}
	return endingTime, fmt.Errorf("PostgreSQL's data directory %s is %w by process %d", h.data(), errInUse, pid)
}

// postmaster returns the process id of the last server of the cluster. It is 0 if there was no server, or it has
// stopped regularly.
func (h *home) postmaster() int {
	text, err := os.ReadFile(h.pidFile())
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return max(pid, -pid) // a server in single-user mode writes the negative id
}

func (h *home) pidFile() string { return filepath.Join(h.data(), "postmaster.pid") }

// disown prepares postmaster.pid for the next start. PostgreSQL refuses to start if the process id in
// postmaster.pid is in use by a process of the same user. That process may be a zombie, or another
// program that has the id now. PostgreSQL accepts the id of its parent, which is this process, so
// disown writes that id. The rest of the file stays: it identifies the shared memory, by which
// PostgreSQL finds processes that the last server has left behind. The caller must hold the home's
// lock and must have checked that the last server has ended.
func (h *home) disown() error {
	pid := h.postmaster()
	if pid == 0 || isMissing(pid) {
		return nil
	}
	text, err := os.ReadFile(h.pidFile())
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	fresh := h.pidFile() + ".new"
	if err := os.WriteFile(fresh, fmt.Appendf(nil, "%d\n%s", os.Getpid(), rest), 0o600); err != nil {
		return err
	}
	if err := h.runAs.take(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, h.pidFile())
}

// isMissing reports whether no process has the id.
func isMissing(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
