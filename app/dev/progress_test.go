package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// testProgress returns the progress of a build, its output, and a function that lets time pass.
func testProgress(terminal bool) (p *progress, out *bytes.Buffer, wait func(time.Duration)) {
	out = &bytes.Buffer{}
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	p = newProgress(&screen{out: out, terminal: terminal, now: func() time.Time { return now }})
	return p, out, func(d time.Duration) { now = now.Add(d) }
}

func TestProgressOfFirstBuild(t *testing.T) {
	t.Parallel()
	p, out, wait := testProgress(false)
	check := func(want string) {
		t.Helper()
		p.draw()
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		out.Reset()
	}
	check("")
	wait(time.Second)
	p.download("example.test/module v1.2.3")
	check("Downloading modules: 1, 1s: example.test/module v1.2.3\n")
	wait(pause)
	p.compile("p0")
	check("Compiling packages: 1, 11s: p0\n")
	var packages []string
	for i := range manyPackages {
		packages = append(packages, fmt.Sprint("p", i))
	}
	p.need(packages[1:])
	p.compile("p1")
	check(explanation)
	wait(pause)
	check("Compiling packages: 2 of 200 (1 %), 21s: p1\n")
	for _, pkg := range packages {
		p.compile(pkg)
	}
	wait(pause)
	check("Compiling packages: 200 of 200, 31s: linking the program\n")
	wait(time.Minute)
	p.end()
	check("Compiled packages: 200 in 1m31s.\nCompiling packages: 200 of 200, 1m31s: linking the program\n")
}

// Many downloads are explained, too.
func TestProgressOfFirstDownload(t *testing.T) {
	t.Parallel()
	p, out, _ := testProgress(false)
	for range manyModules {
		p.download("example.test/module v1.2.3")
	}
	p.draw()
	if want := explanation + "Downloading modules: 20, 0s: example.test/module v1.2.3\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	p, out, wait := testProgress(true)
	p.draw()
	wait(silence)
	p.draw()
	p.draw() // changes nothing
	p.compile("example.test/" + strings.Repeat("x", columns))
	p.draw()
	p.message(out, "warning: x")
	p.draw()
	p.end()
	line := eraseLine + "Compiling packages: 1, 2s: example.test/" + strings.Repeat("x", columns-41) + "…"
	want := eraseLine + "Building the program, 2s" + line + eraseLine + "warning: x\n" + line +
		eraseLine + "Compiled packages: 1 in 2s.\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
