package identity_test

import (
	"os"
	"testing"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// Short names of frequently used functions of the test kit.
var (
	noon    = persistencetest.Noon
	open    = persistencetest.Open
	must    = persistencetest.Must
	count   = persistencetest.Count
	claim   = persistencetest.Claim
	attempt = persistencetest.Attempt
)
