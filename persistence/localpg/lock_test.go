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
	"testing"
	"time"
)

// It does not run in parallel: a process that another test is just starting holds all locks of this process until it
// has executed its program.
func TestTakeLockExcludesOthers(t *testing.T) {
	dir := t.TempDir()
	lock, err := TakeLock(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*pollTime)
	defer cancel()
	_, err = TakeLock(ctx, dir, io.Discard)
	want := fmt.Sprintf("directory %s is in use by process %d", dir, os.Getpid())
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second lock: got error %v, want it to contain %q", err, want)
	}
	lock.Release()
	lock.Release()
	again, err := TakeLock(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestTakeLockRequiresDirectory(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := TakeLock(t.Context(), missing, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TakeLock in a missing directory: got error %v, want %v", err, os.ErrNotExist)
	}
}

// The holder may have been killed: the wait ends when it releases the lock.
func TestTakeLockWaitsForItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := TakeLock(t.Context(), dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	again, err := TakeLock(t.Context(), dir, onNotice(func(text string) {
		if !strings.Contains(text, "in use by process "+strconv.Itoa(os.Getpid())) {
			t.Errorf("got notice %q, want one that names the holder", text)
		}
		lock.Release()
	}))
	if err != nil {
		t.Fatal(err)
	}
	again.Release()
}

func TestAwait(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	calls := 0
	err := await(t.Context(), &strings.Builder{}, func() (time.Duration, error) {
		if calls++; calls < 3 {
			return time.Hour, busy
		}
		return 0, nil
	})
	if err != nil || calls != 3 {
		t.Errorf("await: got error %v after %d calls, want none after 3", err, calls)
	}
	if err := await(t.Context(), nil, func() (time.Duration, error) { return 0, busy }); !errors.Is(err, busy) {
		t.Errorf("await without a wait: got error %v, want %v", err, busy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var notice strings.Builder
	err = await(ctx, onNotice(func(text string) {
		cancel()
		notice.WriteString(text)
	}), func() (time.Duration, error) { return time.Hour, busy })
	if !errors.Is(err, busy) || !errors.Is(err, context.Canceled) {
		t.Errorf("await after a cancellation: got error %v, want one that wraps %v and %v", err, busy, context.Canceled)
	}
	if got, want := notice.String(), "Waiting up to 1h0m0s: busy\n"; got != want {
		t.Errorf("notice %q, want %q", got, want)
	}
}

// onNotice is called with the notice of a waiting start.
type onNotice func(text string)

func (f onNotice) Write(text []byte) (int, error) {
	f(string(text))
	return len(text), nil
}
