package boot

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// health knows whether a process can do its work.
type health struct {
	started atomic.Bool
	checks  []func(context.Context) error // fixed before started is set
}

// ready returns why the process cannot do its work now.
func (h *health) ready(ctx context.Context) error {
	if !h.started.Load() {
		return errors.New("starting")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, check := range h.checks {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}
