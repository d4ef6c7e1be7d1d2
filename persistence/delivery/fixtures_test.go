package delivery_test

import (
	"os"
	"testing"

	"github.com/comanda-dev/comanda/app"
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

// owner is the actor of changes.
var owner = app.Actor{Realm: app.RealmTenant, ID: "usr_1", Address: "192.0.2.1", RequestID: "req_1"}

func asIs(o app.Order) any { return o }
