//go:build unix

package dirlock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOneOwnerAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Take(dir)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Dir != dir || held.PID != os.Getpid() {
		t.Errorf("a second owner gets %v", err)
	}
	lock.Release()
	lock.Release()
	again, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestDirectoryMustExist(t *testing.T) {
	t.Parallel()
	if _, err := Take(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
