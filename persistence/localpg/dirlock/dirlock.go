//go:build unix

// Package dirlock lets one process at a time own a directory. The lock is the kernel's, so it goes with the process
// that holds it, however that ends.
package dirlock

import (
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

	"github.com/comanda-dev/comanda/persistence/localpg/former"
)

// fileName is the file within the directory that is locked. It stays when the lock is released: removing it would let
// two processes hold locks on two files of the same name.
const fileName = "lock"

// Lock is a directory owned by this process.
type Lock struct{ file *os.File }

// HeldError says that another holder owns the directory.
type HeldError struct {
	Dir string
	PID int // of the holder; 0 when it has not yet said who it is
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("directory %s is in use by process %d", e.Dir, e.PID)
}

// Take makes this process the owner of dir, which must exist, until Release. If it has an owner already, the error
// holds a *HeldError. Take waits up to 15 s, as notice then says, for an owner that has been killed and has not ended
// yet.
func Take(ctx context.Context, dir string, notice io.Writer) (*Lock, error) {
	var lock *Lock
	err := former.Await(ctx, notice, func() (patience time.Duration, err error) {
		lock, err = try(dir)
		if held, ok := errors.AsType[*HeldError](err); ok && held.PID != 0 && former.StateOf(held.PID) != former.Running {
			return former.EndingTime, err
		}
		return 0, err
	})
	return lock, err
}

// try takes the lock or fails, without waiting.
func try(dir string) (*Lock, error) {
	file, err := os.OpenFile(filepath.Join(dir, fileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = &HeldError{Dir: dir, PID: holder(file)}
		}
		return nil, errors.Join(err, file.Close())
	}
	if err := sign(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Lock{file}, nil
}

// Release gives the directory up. A second call does nothing.
func (l *Lock) Release() {
	_ = l.file.Close() // it fails only when the file is closed, and unlocked, already
}

// holder reads which process signed the lock file.
func holder(file *os.File) int {
	text, err := io.ReadAll(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// sign writes this process's id into the lock file.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
