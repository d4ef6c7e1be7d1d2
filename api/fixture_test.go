package api

import (
	"maps"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// filled is the world that newWorld copies.
var filled struct {
	persistencetest.Template
	stores map[string]*shop
	users  map[string]app.User
	tokens map[string]string
}

// newWorld returns a world with stores, users and tokens in a separate database. It copies a database that is filled
// once, because filling takes several times as long as copying. Identifiers and tokens are therefore the same in all
// worlds of a process.
func newWorld(t *testing.T) *world {
	t.Helper()
	db := filled.New(t, func(db *persistencetest.Database) {
		w := newEmptyWorld(t, db)
		w.addRows()
		filled.stores, filled.users, filled.tokens = w.stores, w.users, w.tokens
	})
	w := newEmptyWorld(t, db)
	t.Cleanup(w.checkEvents)
	for name, s := range filled.stores {
		own := *s
		w.stores[name] = &own
	}
	w.users, w.tokens = maps.Clone(filled.users), maps.Clone(filled.tokens)
	return w
}
