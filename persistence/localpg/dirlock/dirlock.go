//go:build unix

// Package dirlock limits the use of a directory to one process at a time. It uses a lock of the
// kernel, which ends when its process ends for any reason.
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

// fileName is the locked file in the directory. Release does not remove it: otherwise two processes
// could lock two files with the same name.
const fileName = "lock"

// hesitation is the time for which Take waits for a process that seems to run.
const hesitation = 500 * time.Millisecond

// Lock is the lock of a directory that this process uses.
type Lock struct{ file *os.File }

// HeldError means that another process uses the directory.
type HeldError struct {
	Dir string
	PID int // of the holder; 0 if it has not yet written its id
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("directory %s is in use by another process", e.Dir)
	}
	return fmt.Sprintf("directory %s is in use by process %d", e.Dir, e.PID)
}

// Take locks dir, which must exist, until Release. If another process holds the lock, the error wraps
// a *HeldError. If that process was killed but has not yet ended, Take writes a line to notice and
// waits up to 15 s. Otherwise it waits for half a second, because a process that was killed just now
// may still count as running.
func Take(ctx context.Context, dir string, notice io.Writer) (*Lock, error) {
	var lock *Lock
	err := former.Await(ctx, notice, func() (patience time.Duration, err error) {
		lock, err = try(dir)
		held, ok := errors.AsType[*HeldError](err)
		switch {
		case !ok:
			return 0, err
		case held.PID != 0 && former.StateOf(held.PID) != former.Running:
			return former.EndingTime, err
		default:
			return hesitation, err
		}
	})
	return lock, err
}

// try locks dir without waiting.
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

// Release ends the lock. A second call does nothing.
func (l *Lock) Release() {
	_ = l.file.Close() // fails only if the file is already closed and thereby unlocked
}

// holder returns the process id in the lock file, 0 if there is none.
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

// sign writes the id of this process into the lock file.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
