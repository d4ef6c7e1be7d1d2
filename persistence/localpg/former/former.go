//go:build unix

// Package former lets a start wait for a previous run that has been killed and has not quite ended.
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
	// EndingTime is how long a process that is ending is worth waiting for. PostgreSQL gives its children 5 s to obey
	// an immediate shutdown, and a killed process first completes the writes that the kernel has begun for it.
	EndingTime = 15 * time.Second
	// noticeTime is how long a wait can last before the user is told the reason.
	noticeTime = time.Second
	// pollTime is the pause between two tries.
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

// StateOf returns the state of the process with an id. Only Linux can tell zombies and ending processes from running
// ones; elsewhere they count as Running.
func StateOf(pid int) State {
	if missing(pid) {
		return Gone
	}
	return existing(pid)
}

// missing reports whether no process has the id.
func missing(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Await calls try until it succeeds. When try fails, it returns how long, counted from the first call, it is worth
// repeating: after that time, Await returns the error of try. When ctx ends, the error wraps its cause. A wait of more
// than a second writes one line to notice.
func Await(ctx context.Context, notice io.Writer, try func() (time.Duration, error)) error {
	began := time.Now()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for told := false; ; {
		patience, err := try()
		waited := time.Since(began)
		if err == nil || waited >= patience {
			return err
		}
		if !told && waited >= noticeTime {
			told = true
			fmt.Fprintf(notice, "Waiting up to %v: %v\n", patience, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while waiting: %w", context.Cause(ctx), err)
		case <-poll.C:
		}
	}
}
