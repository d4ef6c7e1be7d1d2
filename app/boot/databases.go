package boot

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// databases has the database of each part of a process. The parts have separate pools, so that a process with both
// parts uses its connections like two processes.
type databases map[Part]*persistence.DB

// openDatabases returns the databases of a process, which connect at their first use, and registers their metrics.
func openDatabases(config Config, metrics prometheus.Registerer) (databases, error) {
	all := databases{}
	ended := countEnded(metrics)
	for part, pools := range config.pools() {
		db, err := persistence.Open(persistence.Config{
			URL: config.DatabaseURL.Reveal(), SystemURL: config.SystemDatabaseURL.Reveal(), Pools: pools,
			Sealer: config.sealer, Mails: config.smtp != nil, PlanWindow: config.PlanWindow, Ended: ended,
		})
		if err != nil {
			return nil, errors.Join(err, all.Close())
		}
		all[part] = db
	}
	metrics.MustRegister(api.NewBacklog(all.one().Backlog, time.Now), poolMetrics(all.poolStats))
	return all, nil
}

// one returns the database of the API, or that of the worker in a process without the API.
func (d databases) one() *persistence.DB {
	if db := d[API]; db != nil {
		return db
	}
	return d[Worker]
}

// Ping returns an error if a database does not respond.
func (d databases) Ping(ctx context.Context) error {
	var faults []error
	for _, db := range d {
		faults = append(faults, db.Ping(ctx))
	}
	return errors.Join(faults...)
}

func (d databases) poolStats() (stats []pg.PoolStats) {
	for _, db := range d {
		stats = append(stats, db.PoolStats()...)
	}
	return stats
}

// Close closes the databases.
func (d databases) Close() error {
	var faults []error
	for _, db := range d {
		faults = append(faults, db.Close())
	}
	return errors.Join(faults...)
}
