// Package identity stores websites, stores and their settings, users, customers, sessions, API keys and the audit
// trail.
package identity

import (
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// DB has the methods of this package.
type DB struct {
	pg      *pg.DB
	lookups *pg.DB // with the pools of pg.Lookups
	queue   *delivery.Queue
	sealer  app.Sealer
}

// New returns the methods for a database.
func New(db *pg.DB, queue *delivery.Queue, sealer app.Sealer) *DB {
	return &DB{pg: db, lookups: db.For(pg.Lookups), queue: queue, sealer: sealer}
}
