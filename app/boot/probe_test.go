package boot

import (
	"context"
	"errors"
	"testing"

	"github.com/comanda-dev/comanda/persistence/pg"
)

// A worker is not able to start deliveries if a pool that they need serves nobody, or Temporal does not respond.
func TestProbe(t *testing.T) {
	t.Parallel()
	pool := func(purpose pg.Purpose, inUse, waiting, served int) pg.PoolStats {
		return pg.PoolStats{Pool: pg.Pool{Purpose: purpose, Conns: 2}, InUse: inUse, Waiting: waiting, Served: served}
	}
	for name, c := range map[string]struct {
		before, after pg.PoolStats
		temporal      error
		able          bool
	}{
		"idle":                      {pool(pg.Attempts, 0, 0, 5), pool(pg.Attempts, 0, 0, 5), nil, true},
		"Temporal is away":          {pool(pg.Attempts, 0, 0, 5), pool(pg.Attempts, 0, 0, 5), errors.New("away"), false},
		"attempts are exhausted":    {pool(pg.Attempts, 2, 3, 5), pool(pg.Attempts, 2, 3, 5), nil, false},
		"the relay is exhausted":    {pool(pg.Relay, 2, 1, 5), pool(pg.Relay, 2, 1, 5), nil, false},
		"attempts are busy":         {pool(pg.Attempts, 2, 3, 5), pool(pg.Attempts, 2, 3, 6), nil, true},
		"callers have just arrived": {pool(pg.Attempts, 2, 0, 5), pool(pg.Attempts, 2, 3, 5), nil, true},
		"a connection opens":        {pool(pg.Attempts, 1, 1, 5), pool(pg.Attempts, 1, 1, 5), nil, true},
		"jobs are exhausted":        {pool(pg.Jobs, 2, 3, 5), pool(pg.Jobs, 2, 3, 5), nil, true},
	} {
		stats := []pg.PoolStats{c.before}
		probe := probeOf(func(context.Context) error { return c.temporal }, func() []pg.PoolStats { return stats })
		stats = []pg.PoolStats{c.after}
		if err := probe(t.Context()); (err == nil) != c.able {
			t.Errorf("%s: got error %v, want able %v", name, err, c.able)
		}
	}
}
