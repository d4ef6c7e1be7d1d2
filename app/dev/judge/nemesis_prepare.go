package main

import (
	"context"
	"fmt"
)

// preparation is what a fault needs in the installation before it starts. It costs only the runs that select the fault.
type preparation func(ctx context.Context, w *world) error

// preparations are those of the faults that need one.
var preparations = map[string]struct {
	name string // of the preparation, which several faults may need
	make preparation
}{
	"clock-worker": {"skewable clocks", makeSkewable},
	"clock-serve":  {"skewable clocks", makeSkewable},
	"disk-full":    {"limited disk", limitDisk},
	"migration":    {"next release", buildNext},
}

// prepare prepares the installation for faults.
func (w *world) prepare(ctx context.Context, list []fault) error {
	prepared := map[string]bool{}
	for _, f := range list {
		p, needed := preparations[f.name]
		if !needed || prepared[p.name] {
			continue
		}
		prepared[p.name] = true
		if err := p.make(ctx, w); err != nil {
			return fmt.Errorf("prepare %s: %w", f.name, err)
		}
	}
	return nil
}
