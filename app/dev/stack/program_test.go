package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// program is a run of the program in the process of the test.
type program struct {
	data           string
	signals        chan os.Signal
	exited         chan int
	stdout, stderr buffer
}

// buffer is safe for concurrent reads and writes.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// dataDirectory returns a directory that every user can enter, because PostgreSQL may run as another user.
func dataDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(localpg.TempDir(), "comanda-dev-test-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, ".dev")
}

// launch runs the program with a data directory and other arguments.
func launch(t *testing.T, data string, args ...string) *program {
	t.Helper()
	p := &program{data: data, signals: make(chan os.Signal, 2), exited: make(chan int, 1)}
	go func() {
		environ := []string{"PATH=" + os.Getenv("PATH"), "COMANDA_RETRY_SCHEDULE=1s,2s"}
		p.exited <- run(p.signals, append([]string{"--data", data}, args...), environ, &p.stdout, &p.stderr)
	}()
	return p
}

// ready waits until all parts run and returns the content of ready.json. Without PostgreSQL the test is skipped; in CI
// it fails.
func (p *program) ready(t *testing.T) Ready {
	t.Helper()
	file := filepath.Join(p.data, readyFile)
	timeout := time.After(2 * time.Minute)
	for {
		text, err := os.ReadFile(file)
		if err == nil {
			var ready Ready
			if err := json.Unmarshal(text, &ready); err != nil {
				t.Fatal(err)
			}
			return ready
		}
		select {
		case code := <-p.exited:
			if os.Getenv("CI") != "true" && strings.Contains(p.stderr.String(), localpg.ErrNotInstalled.Error()) {
				t.Skip(p.stderr.String())
			}
			t.Fatalf("exit code %d: %s", code, p.stderr.String())
		case <-timeout:
			t.Fatal("not ready after two minutes")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop interrupts the program and checks that it stops gracefully.
func (p *program) stop(t *testing.T) {
	t.Helper()
	p.signals <- syscall.SIGTERM
	code := <-p.exited
	if code != 0 || p.stderr.String() != "" {
		t.Errorf("exit code %d: %s", code, p.stderr.String())
	}
	if _, err := os.Stat(filepath.Join(p.data, readyFile)); !os.IsNotExist(err) {
		t.Errorf("ready.json still exists: %v", err)
	}
}

// wantFailure checks that the program fails to start, with an error of one line that contains these parts.
func (p *program) wantFailure(t *testing.T, parts ...string) {
	t.Helper()
	if code := <-p.exited; code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	text := p.stderr.String()
	if strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "comanda dev: ") {
		t.Errorf("printed %q, want one line", text)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("printed %q, want it to contain %q", text, part)
		}
	}
}
