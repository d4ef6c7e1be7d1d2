// Package ordering stores the menu, orders, payments, reservations and loyalty points, and computes the analytics.
package ordering

import (
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// DB has the methods of this package.
type DB struct {
	pg, deadlines *pg.DB // deadlines has the pools of this purpose
	queue         *delivery.Queue
}

// New returns the methods for a database.
func New(db *pg.DB, queue *delivery.Queue) *DB {
	return &DB{pg: db, deadlines: db.For(pg.Deadlines), queue: queue}
}
