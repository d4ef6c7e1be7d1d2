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

// hesitation is the time for which Start waits for a running server that does not report that it is
// stopping. A server whose parent was killed receives its signal a moment later.
const hesitation = 2 * time.Second

// statusLine is the index of the line of postmaster.pid that contains the server's status: starting,
// ready or stopping.
const statusLine = 7

// AwaitFormer waits until no server runs on the data of o.Dir, which may be missing. Like Start, it
// waits for a server that is ending. If the server continues, AwaitFormer returns the same error as
// Start.
func AwaitFormer(ctx context.Context, o Options) error {
	o.setDefaults()
	h := &home{path: o.Dir}
	return former.Await(ctx, o.Notice, h.checkFormer)
}

// checkFormer returns an error while the last server of the cluster has not ended, and the time for
// which waiting is useful.
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

// postmaster returns the process id and the status of the last server of the cluster. The id is 0 if
// there was no server, or it has stopped regularly.
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
	return max(pid, -pid), status // a server in single-user mode writes the negative id
}

func (h *home) pidFile() string { return filepath.Join(h.data(), "postmaster.pid") }

// disown prepares postmaster.pid for the next start. PostgreSQL refuses to start if the process id in
// postmaster.pid is in use by a process of the same user. That process may be a zombie, or another
// program that has the id now. PostgreSQL accepts the id of its parent, which is this process, so
// disown writes that id. The rest of the file stays: it identifies the shared memory, by which
// PostgreSQL finds processes that the last server has left behind. The caller must hold the home's
// lock and must have checked that the last server has ended.
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
	if err := h.runAs.take(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, h.pidFile())
}
