//go:build unix

package former

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestStateOf(t *testing.T) {
	t.Parallel()
	if got := StateOf(os.Getpid()); got != Running {
		t.Errorf("state of this process: got %v, want %v", got, Running)
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if got := StateOf(child.Process.Pid); got != Running {
		t.Errorf("state of a sleeping child: got %v, want %v", got, Running)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		got := StateOf(child.Process.Pid)
		for deadline := time.Now().Add(EndingTime); got == Running && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond) // it may have received the signal and not yet begun to exit
			got = StateOf(child.Process.Pid)
		}
		if got == Running {
			t.Errorf("state of a killed child before Wait: got %v, want %v or %v", got, Ending, Gone)
		}
	}
	_ = child.Wait()
	if got := StateOf(child.Process.Pid); got != Gone {
		t.Errorf("state of a child after Wait: got %v, want %v", got, Gone)
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	calls := 0
	err := Await(t.Context(), &strings.Builder{}, func() (time.Duration, error) {
		if calls++; calls < 3 {
			return time.Hour, busy
		}
		return 0, nil
	})
	if err != nil || calls != 3 {
		t.Errorf("Await: got error %v after %d calls, want none after 3", err, calls)
	}
	if err := Await(t.Context(), nil, func() (time.Duration, error) { return 0, busy }); !errors.Is(err, busy) {
		t.Errorf("Await without patience: got error %v, want %v", err, busy)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var notice strings.Builder
	err = Await(ctx, writer(func(text []byte) (int, error) {
		cancel()
		return notice.Write(text)
	}), func() (time.Duration, error) { return time.Hour, busy })
	if !errors.Is(err, busy) || !errors.Is(err, context.Canceled) {
		t.Errorf("Await after a cancellation: got error %v, want one that wraps %v and %v", err, busy, context.Canceled)
	}
	if got, want := notice.String(), "Waiting up to 1h0m0s: busy\n"; got != want {
		t.Errorf("notice %q, want %q", got, want)
	}
}

// writer is a function as an io.Writer.
type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }
