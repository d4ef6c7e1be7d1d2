//go:build unix

// Package former lets the start of a program wait for a previous run that was killed and has not yet
// ended.
package former

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

const (
	// EndingTime is the maximum time to wait for a process that is ending. PostgreSQL gives its
	// children 5 s to follow an immediate shutdown, and the kernel first completes the started writes
	// of a killed process.
	EndingTime = 15 * time.Second
	// noticeTime is the duration of a wait after which the user is told the reason.
	noticeTime = time.Second
	// pollTime is the pause between two attempts.
	pollTime = 50 * time.Millisecond
)

// State is the state of a process.
type State int

const (
	// Gone means that no process has the id, or that a zombie has it: a process that has ended, but whose parent has
	// not collected its exit status.
	Gone State = iota
	// Ending means that the process is killed or exits, and may still hold files and memory.
	Ending
	// Running is every other state.
	Running
)

// StateOf returns the state of the process with an id. Only Linux distinguishes zombies and ending
// processes from running processes; on other systems they count as Running. On Linux, too, a killed
// process counts as Running for the moment between receiving the signal and beginning to exit.
func StateOf(pid int) State {
	if missing(pid) {
		return Gone
	}
	return existing(pid)
}

// missing reports whether no process has the id.
func missing(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Await calls try until it succeeds. When try fails, it returns the time, counted from the first call,
// for which Await repeats it; after that time Await returns the error of try. If ctx ends, the error
// wraps the cause. A wait longer than a second writes one line to notice.
func Await(ctx context.Context, notice io.Writer, try func() (time.Duration, error)) error {
	began := time.Now()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for noticed := false; ; {
		patience, err := try()
		waited := time.Since(began)
		if err == nil || waited >= patience {
			return err
		}
		if !noticed && waited >= noticeTime {
			noticed = true
			fmt.Fprintf(notice, "Waiting up to %v: %v\n", patience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting: %w", context.Cause(ctx), err)
		case <-poll.C:
		}
	}
}
