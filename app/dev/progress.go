package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// silence is the time for which a build that downloads and compiles nothing shows nothing.
	silence = 2 * time.Second
	// manyModules or manyPackages make a build take minutes: it is the first one, or nearly so, and it is explained.
	manyModules, manyPackages = 20, 200
	// pause is the time between two lines if the output is not a terminal.
	pause = 10 * time.Second
	// columns is the width of the progress on a terminal, which is rarely narrower.
	columns = 79
)

const explanation = `The first start compiles Comanda and the Temporal server. It takes about ten
minutes on two cores; later starts take seconds. Ctrl-C interrupts it, and the
next start continues.
`

// eraseLine erases the current line of a terminal.
const eraseLine = "\r\x1b[K"

// progress is the progress of a build. Its methods can be called concurrently.
type progress struct {
	screen *screen

	mu        sync.Mutex
	began     time.Time
	modules   int             // downloads so far
	compiled  map[string]bool // the packages whose compilation has begun
	needed    map[string]bool // these and those to come; nil until they are known
	latest    string          // module or package
	explained bool
}

func newProgress(s *screen) *progress {
	return &progress{screen: s, began: s.now(), compiled: map[string]bool{}}
}

// download records that the download of a module has begun.
func (p *progress) download(module string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.modules++
	p.latest = module
}

// compile records that the compilation of a package has begun.
func (p *progress) compile(pkg string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.compiled[pkg] = true
	p.latest = pkg
}

// need records the packages that were not compiled at some moment of the build.
func (p *progress) need(packages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.needed = map[string]bool{}
	for _, pkg := range packages {
		p.needed[pkg] = true
	}
	for pkg := range p.compiled {
		p.needed[pkg] = true
	}
}

// message prints a message of go.
func (p *progress) message(stderr io.Writer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.clear()
	fmt.Fprintln(stderr, text)
}

// draw shows the progress. It shows nothing for a short build that downloads and compiles nothing.
func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.modules+len(p.compiled) == 0 && p.took() < silence {
		return
	}
	if !p.explained && (p.modules >= manyModules || len(p.needed) >= manyPackages) {
		p.explained = true
		p.screen.print(explanation)
	}
	p.screen.update(p.text())
}

// text describes the progress in one line.
func (p *progress) text() string {
	took := p.took()
	switch compiled, needed := len(p.compiled), len(p.needed); {
	case compiled+p.modules == 0:
		return fmt.Sprintf("Building the program, %s", took) // go prints nothing while it reads packages and links
	case compiled == 0:
		return fmt.Sprintf("Downloading modules: %d, %s: %s", p.modules, took, p.latest)
	case needed == 0:
		return fmt.Sprintf("Compiling packages: %d, %s: %s", compiled, took, p.latest)
	case compiled < needed:
		return fmt.Sprintf("Compiling packages: %d of %d (%d %%), %s: %s",
			compiled, needed, 100*compiled/needed, took, p.latest)
	default:
		return fmt.Sprintf("Compiling packages: %d of %d, %s: linking the program", compiled, needed, took)
	}
}

// took returns the time since the start of the build.
func (p *progress) took() time.Duration { return p.screen.now().Sub(p.began).Truncate(time.Second) }

// end removes the progress and says how long it took, unless nothing was compiled.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.clear()
	if len(p.compiled) > 0 {
		p.screen.print(fmt.Sprintf("Compiled packages: %d in %s.\n", len(p.compiled), p.took()))
	}
}

// fail removes the progress.
func (p *progress) fail() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.clear()
}

// interrupt replaces the progress by the result of an interrupted build.
func (p *progress) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.print(fmt.Sprintf("Interrupted after %s. The next start continues.\n", p.took()))
}

// screen shows text and, below it, one line that changes: on a terminal it is overwritten, elsewhere it is printed
// again after a pause.
type screen struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	line     string    // on the terminal
	printed  time.Time // elsewhere
}

// update shows the line.
func (s *screen) update(line string) {
	if !s.terminal {
		if s.printed.IsZero() || s.now().Sub(s.printed) >= pause {
			s.printed = s.now()
			fmt.Fprintln(s.out, line)
		}
		return
	}
	if runes := []rune(line); len(runes) > columns {
		line = string(runes[:columns-1]) + "…"
	}
	if line != s.line {
		s.line = line
		fmt.Fprint(s.out, eraseLine+line)
	}
}

// clear removes the line from the terminal.
func (s *screen) clear() {
	if s.line != "" {
		s.line = ""
		fmt.Fprint(s.out, eraseLine)
	}
}

// print shows text instead of the line.
func (s *screen) print(text string) {
	s.clear()
	fmt.Fprint(s.out, text)
}
