package ordering_test

import (
	"os"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// Short names of frequently used functions of the test kit.
var (
	noon     = persistencetest.Noon
	must     = persistencetest.Must
	count    = persistencetest.Count
	mailing  = persistencetest.WithMails
	exec     = persistencetest.Exec
	aPayment = persistencetest.Payment
)

// restaurant adds methods of this package's tests to the restaurant of the test kit.
type restaurant struct{ persistencetest.Restaurant }

func open(t *testing.T, db *persistencetest.Database, domain string) restaurant {
	t.Helper()
	return restaurant{persistencetest.Open(t, db, domain)}
}
