//go:build unix

package localpg

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
)

// lockFile is the locked file in the directory. Release does not remove it: otherwise two processes
// could lock two files with the same name.
const lockFile = "lock"

// lockTime is the time for which [TakeLock] waits for a process that was killed and has not yet ended.
const lockTime = 3 * time.Second

// Lock is the lock of a directory that this process uses.
type Lock struct{ file *os.File }

// TakeLock locks dir, which must exist, until Release, so that one process at a time uses it. The kernel holds the lock
// and ends it with its process. TakeLock waits up to 3 s for the lock, because its holder may have been killed and
// still be ending; a wait longer than a second writes a line to notice.
func TakeLock(ctx context.Context, dir string, notice io.Writer) (*Lock, error) {
	var lock *Lock
	err := await(ctx, notice, func() (most time.Duration, err error) {
		if lock, err = tryLock(dir); errors.Is(err, errInUse) {
			return lockTime, err
		}
		return 0, err
	})
	return lock, err
}

// tryLock locks dir without waiting.
func tryLock(dir string) (*Lock, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("directory %s is %w by %s", dir, errInUse, holder(file))
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

// holder describes the process in the lock file.
func holder(file *os.File) string {
	text, err := io.ReadAll(file)
	if err != nil || len(text) == 0 { // it has not yet written its id
		return "another process"
	}
	return "process " + strings.TrimSpace(string(text))
}

// sign writes the id of this process into the lock file.
func sign(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
