package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// testModule returns a module with a program of two packages. Go has never compiled it.
func testModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.test/program\n\ngo 1.26\n",
		"main.go":      "package main\n\nimport \"example.test/program/part\"\n\nfunc main() { println(part.Text) }\n",
		"part/part.go": "package part\n\nconst Text = \"" + dir + "\"\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// testBuild returns the build of a module. Its output and its messages go to the same writer.
func testBuild(dir string, out io.Writer, env ...string) *build {
	return &build{
		dir: dir, pkg: ".", output: filepath.Join(dir, "bin", "program"), stderr: out,
		env:      append(os.Environ(), append(env, "GOWORK=off")...),
		progress: newProgress(&screen{out: out, now: time.Now}),
	}
}

func TestBuild(t *testing.T) {
	t.Parallel()
	dir := testModule(t)
	var first, second, third bytes.Buffer
	// A build of two packages may end before they are counted.
	listed := testBuild(dir, io.Discard)
	if listed.count(t.Context()); len(listed.progress.needed) != 2 {
		t.Errorf("the needed packages are %v, want two", listed.progress.needed)
	}
	b := testBuild(dir, &first)
	if err := b.run(nil); err != nil {
		t.Fatalf("%v\n%s", err, first.String())
	}
	if info, err := os.Stat(b.output); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the program: %v, %v", info, err)
	}
	if !strings.Contains(first.String(), "Compiled packages: 2 in ") || !b.counted {
		t.Errorf("got %q and a count %t, want two packages and a count", first.String(), b.counted)
	}
	if err := testBuild(dir, &second).run(nil); err != nil || second.Len() > 0 {
		t.Errorf("the second build: got %v and %q, want no output", err, second.String())
	}
	wrong := []byte("package part\n\nvar x = y\n")
	if err := os.WriteFile(filepath.Join(dir, "part", "part.go"), wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	err := testBuild(dir, &third).run(nil)
	if err == nil || !strings.Contains(third.String(), "undefined: y") || strings.Contains(third.String(), "Compiled") {
		t.Errorf("a build with an error: got %v and %q", err, third.String())
	}
}

// A signal ends go and its compilers, also compilers that ignore it, as they do if this process was started in the
// background by a script.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trap    string
		signals int
	}{
		"once":    {"", 1},
		"ignored": {"trap '' INT", 1},
		"twice":   {"trap '' INT", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testModule(t)
			// The compiler opens a pipe for writing and sleeps. The end of the pipe means that it has ended.
			compiler, pipe := filepath.Join(dir, "compiler"), filepath.Join(dir, "pipe")
			script := "#!/bin/sh\ncase \"$*\" in *-V=full*) exec \"$@\";; esac\n" + c.trap +
				"\nexec 3>" + pipe + "\nsleep 60\n"
			if err := errors.Join(os.WriteFile(compiler, []byte(script), 0o700), syscall.Mkfifo(pipe, 0o600)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			b := testBuild(dir, &out, "GOFLAGS=-toolexec="+compiler)
			signals, ended := make(chan os.Signal, 2), make(chan error, 1)
			go func() { ended <- b.run(signals) }()
			running, err := os.Open(pipe)
			if err != nil {
				t.Fatal(err)
			}
			defer running.Close()
			for range c.signals {
				signals <- syscall.SIGTERM
			}
			var interrupt interruption
			if err := <-ended; !errors.As(err, &interrupt) || exitCode(interrupt.signal) != 128+15 {
				t.Errorf("got %v, want an interruption by SIGTERM", err)
			}
			if err := running.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(running); err != nil {
				t.Errorf("the compiler is still running: %v", err)
			}
			if !strings.Contains(out.String(), "Interrupted after ") || strings.Contains(out.String(), "signal") {
				t.Errorf("got %q, want only that the build was interrupted", out.String())
			}
		})
	}
}
