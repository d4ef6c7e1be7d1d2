package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// screen shows the progress: a progress bar on a terminal, otherwise lines.
type screen struct {
	out io.Writer
	bar *progressbar.ProgressBar // nil = no terminal
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		s.bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(out), progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	return s
}

// say shows the current step.
func (s *screen) say(text string) {
	if s.bar != nil {
		s.bar.Describe(text)
		return
	}
	fmt.Fprintf(s.out, "%s  %s\n", time.Now().Format(time.TimeOnly), text)
}

// detail shows a detail of the current step, only on a terminal.
func (s *screen) detail(text string) {
	if s.bar != nil {
		s.bar.Describe(text)
	}
}

// tick counts one delivery.
func (s *screen) tick() {
	if s.bar != nil {
		s.bar.Add(1)
	}
}

// clear removes the progress bar before the report.
func (s *screen) clear() {
	if s.bar != nil {
		s.bar.Finish()
	}
}
