//go:build unix

package localpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/comanda-dev/comanda/persistence/localpg/former"
)

// hesitation is how long Start waits for a server that runs and does not say that it is stopping: one whose parent has
// just been killed receives its own signal a moment later.
const hesitation = 2 * time.Second

// statusLine is the line of postmaster.pid in which a server writes whether it is starting, ready or stopping.
const statusLine = 7

// AwaitFormer returns once no server runs on the data of o.Dir, which need not exist. A server that is ending is worth
// the same wait as in Start; for one that goes on, AwaitFormer returns the same error.
func AwaitFormer(ctx context.Context, o Options) error {
	o.setDefaults()
	h := &home{path: o.Dir}
	return former.Await(ctx, o.Notice, h.checkFormer)
}

// checkFormer returns an error, and how long to wait, while the server that last ran on the cluster has not ended.
func (h *home) checkFormer() (time.Duration, error) {
	pid, status := h.postmaster()
	if pid == 0 {
		return 0, nil
	}
	inUse := fmt.Errorf("PostgreSQL's data directory %s is %w by process %d", h.data(), errInUse, pid)
	switch state := former.StateOf(pid); {
	case state == former.Gone, !former.WorksIn(pid, h.data()): // a server works in its data directory
		return 0, nil
	case state == former.Ending, status == "stopping":
		return former.EndingTime, inUse
	default:
		return hesitation, inUse
	}
}

// postmaster reads the process id and the status of the server that last ran on the cluster, 0 if there is no such
// server or it has stopped in order.
func (h *home) postmaster() (pid int, status string) {
	text, err := os.ReadFile(h.pidFile())
	if err != nil {
		return 0, ""
	}
	lines := strings.Split(string(text), "\n")
	pid, err = strconv.Atoi(lines[0])
	if err != nil {
		return 0, ""
	}
	if len(lines) > statusLine {
		status = strings.TrimSpace(lines[statusLine])
	}
	return max(pid, -pid), status // a server in single-user mode writes its id negated
}

func (h *home) pidFile() string { return filepath.Join(h.data(), "postmaster.pid") }

// disown keeps PostgreSQL from mistaking a zombie, or a program that has the former server's process id now, for that
// server: it refuses to start while the id in postmaster.pid is in use by a process of the same user. An exception is
// the id of its parent, which is this process, so disown writes that. The rest of the file stays: it names the shared
// memory, by which PostgreSQL finds processes that the former server has left behind. The caller holds the home's lock,
// and has seen the former server end.
func (h *home) disown() error {
	pid, _ := h.postmaster()
	if pid == 0 || errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
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
	if err := h.who.take(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, h.pidFile())
}
