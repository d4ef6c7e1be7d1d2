package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The launcher imports only a part of the standard library. That must stay so: it is compiled before it says anything.
func TestLauncherIsSmall(t *testing.T) {
	t.Parallel()
	const format = "{{if not .Standard}}{{.ImportPath}}{{end}}{{if .Standard}}std{{end}}"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	standard := 0
	for _, pkg := range strings.Fields(string(out)) {
		switch {
		case pkg == "std":
			standard++
		case !strings.HasPrefix(pkg, "github.com/comanda-dev/comanda/app/dev"):
			t.Errorf("the launcher imports %s, want only the standard library", pkg)
		}
	}
	if standard == 0 || standard > 80 {
		t.Errorf("the launcher needs %d packages of the standard library, want at most 80", standard)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"-h": 0, "--unknown": 2, "serve": 2} {
		read, write, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		program, code := prepare(nil, []string{args}, nil, write)
		write.Close()
		text, err := io.ReadAll(read)
		if err != nil || program != "" || code != want || len(text) == 0 {
			t.Errorf("%s: got %q and exit code %d, want %d: %s (%v)", args, program, code, want, text, err)
		}
	}
}

// The launcher runs the program with its arguments, its environment and its working directory.
func TestLaunch(t *testing.T) {
	t.Parallel()
	launcher, dir := filepath.Join(t.TempDir(), "launcher"), t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", launcher, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	command := exec.CommandContext(t.Context(), launcher, "--data", "here", "--quiet")
	command.Dir, command.Env = dir, append(os.Environ(), "COMANDA_BRUST=off")
	out, err := command.CombinedOutput()
	const want = "comanda dev: COMANDA_BRUST: unknown variable"
	if err == nil || command.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %v and %q, want exit code 1 and %q", err, out, want)
	}
}
