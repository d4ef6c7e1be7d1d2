package persistence_test

import (
	"os"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// Short names of what tests use most.
var (
	noon    = persistencetest.Noon
	limits  = persistencetest.Limits
	must    = persistencetest.Must
	count   = persistencetest.Count
	claim   = persistencetest.Claim
	attempt = persistencetest.Attempt
	mailing = persistencetest.WithMails
)

// restaurant adds to the kit's restaurant what only these tests do.
type restaurant struct{ persistencetest.Restaurant }

func open(t *testing.T, db *persistencetest.Database, domain string) restaurant {
	t.Helper()
	return restaurant{persistencetest.Open(t, db, domain)}
}
