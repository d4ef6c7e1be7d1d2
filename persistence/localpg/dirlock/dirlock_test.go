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

func TestOneOwnerAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := Take(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Take(t.Context(), dir, io.Discard)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Dir != dir || held.PID != os.Getpid() {
		t.Errorf("a second owner gets %v", err)
	}
	lock.Release()
	lock.Release()
	again, err := Take(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestDirectoryMustExist(t *testing.T) {
	t.Parallel()
	if _, err := Take(t.Context(), filepath.Join(t.TempDir(), "missing"), io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// The owner is a zombie whose lock a child inherited: the wait ends when the child lets go of it.
func TestTakeWaitsForAnOwnerThatWasKilled(t *testing.T) {
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
		t.Fatal("the lock of a living owner was taken")
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

// release releases a lock when the wait for it is noticed.
type release struct{ lock *Lock }

func (r release) Write(text []byte) (int, error) {
	r.lock.Release()
	return len(text), nil
}
