//go:build unix

package dirlock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// It does not run in parallel: a process that another test is just starting holds all locks of this process until it
// has executed its program.
func TestTakeLocksOutOthers(t *testing.T) {
	dir := t.TempDir()
	lock, err := Take(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Take(t.Context(), dir, io.Discard)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Dir != dir || held.PID != os.Getpid() {
		t.Errorf("second Take: got error %v, want HeldError for %s and process %d", err, dir, os.Getpid())
	}
	lock.Release()
	lock.Release()
	again, err := Take(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestTakeRequiresDirectory(t *testing.T) {
	t.Parallel()
	if _, err := Take(t.Context(), filepath.Join(t.TempDir(), "missing"), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Take in a missing directory: got error %v, want %v", err, os.ErrNotExist)
	}
}

// The owner is a zombie, and its lock is held by a child. The wait ends when the child releases the
// lock.
func TestTakeWaitsForKilledOwner(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows zombies")
	}
	dir := t.TempDir()
	lock, err := Take(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	owner := exec.CommandContext(t.Context(), "sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Wait() })
	if _, err := lock.file.WriteAt(fmt.Appendf(nil, "%d\n", owner.Process.Pid), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(t.Context(), dir, io.Discard); err == nil {
		t.Fatal("Take succeeded while the owner was alive")
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(t.Context(), dir, release{lock})
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

// release releases a lock when Take writes its notice.
type release struct{ lock *Lock }

func (r release) Write(text []byte) (int, error) {
	r.lock.Release()
	return len(text), nil
}
