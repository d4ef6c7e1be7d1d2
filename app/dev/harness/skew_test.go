package harness

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockProgram writes by how many minutes its wall clock is ahead, and how many have passed, for each byte that it
// reads.
const clockProgram = `package main

import (
	"os"
	"syscall"
	"time"
)

func main() {
	began := time.Now()
	for one := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(one); err != nil {
			return
		}
		var now syscall.Timeval
		if err := syscall.Gettimeofday(&now); err != nil {
			panic(err)
		}
		ahead := time.Until(time.Unix(now.Unix())).Round(time.Minute)
		os.Stdout.WriteString((-ahead).String() + " " + time.Since(began).Truncate(time.Minute).String() + "\n")
	}
}
`

// TestSkew steps the clock of a running program: its wall clock changes, and no duration.
func TestSkew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := skewedTime(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := writeOverlay(dir, "clock", files)
	if err != nil {
		t.Fatal(err)
	}
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(clockProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", program, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	skew := Skew{File: filepath.Join(dir, "skew")}
	clock := exec.CommandContext(t.Context(), program)
	for name, value := range skew.Environment() {
		clock.Env = append(clock.Env, name+"="+value)
	}
	input, inputErr := clock.StdinPipe()
	output, outputErr := clock.StdoutPipe()
	for _, err := range []error{inputErr, outputErr, skew.Set(0), clock.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		input.Close()
		if err := clock.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for _, offset := range []time.Duration{0, 4 * time.Minute, -48 * time.Hour, 0} {
		if err := skew.Set(offset); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(input, "\n"); err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 64)
		n, err := output.Read(line)
		if want := offset.String() + " 0s"; err != nil || strings.TrimSpace(string(line[:n])) != want {
			t.Errorf("offset %s: got %q, error %v, want %q", offset, line[:n], err, want)
		}
	}
}
