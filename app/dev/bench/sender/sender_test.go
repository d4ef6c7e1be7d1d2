package sender

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/webhook"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

// TestRun checks that each event of a store operation arrives with a valid signature, again after a failure, that each
// attempt is logged, and that the product has its events again after Uninstall.
func TestRun(t *testing.T) {
	t.Parallel()
	const secret, events = "a secret of the test, 32 bytes or more", 100
	verifier, err := webhook.New(secret)
	persistencetest.Must(t, err)
	var lock sync.Mutex
	arrived := map[string]int{}
	receiver := httptest.NewTLSServer(verifier.Handler(func(_ context.Context, e webhook.Event) error {
		lock.Lock()
		defer lock.Unlock()
		if arrived[e.ID]++; arrived[e.ID] == 1 && len(arrived) <= 10 {
			return http.ErrAbortHandler // any error: the receiver responds with 500
		}
		return nil
	}))
	defer receiver.Close()

	db := persistencetest.New(t)
	store := persistencetest.Open(t, db, "sender.example").Stores[0]
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	persistencetest.Must(t, err)
	defer owner.Close(context.WithoutCancel(t.Context()))
	persistencetest.Must(t, Install(t.Context(), owner, []Webhook{{store, receiver.URL + "/1", secret}}))

	running, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	trusted := x509.NewCertPool()
	trusted.AddCert(receiver.Certificate())
	go func() { ended <- Run(running, Config{URL: db.SystemURL, RootCAs: trusted, RetryIn: time.Millisecond}) }()
	before := persistencetest.Count(t, db, "SELECT count(*) FROM outbox")
	create := func() {
		t.Helper()
		product := app.Product{Name: "Pizza", PriceMinor: 950, Currency: "EUR", IsAvailable: true}
		_, err := db.CreateProduct(t.Context(), time.Now(), store, product, nil)
		persistencetest.Must(t, err)
	}
	for range events {
		create()
	}
	count := func(query string) (n int) {
		t.Helper()
		persistencetest.Must(t, owner.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	for count("SELECT count(*) FROM minimal.sends WHERE due_at IS NULL") < events {
		time.Sleep(time.Millisecond)
	}
	stop()
	persistencetest.Must(t, <-ended)
	const failed = "SELECT count(*) FROM minimal.attempts WHERE status_code = 500 AND number = 1"
	if n := count(failed); n != 10 || len(arrived) != events {
		t.Errorf("got %d failed first attempts and %d events, want 10 and %d", n, len(arrived), events)
	}
	if n := count("SELECT count(*) FROM minimal.attempts WHERE status_code = 204"); n != events {
		t.Errorf("got %d attempts with success, want %d", n, events)
	}
	if n := persistencetest.Count(t, db, "SELECT count(*) FROM outbox"); n != before {
		t.Errorf("got %d events in the product's outbox, want none", n-before)
	}
	persistencetest.Must(t, Uninstall(t.Context(), owner))
	create()
	if n := persistencetest.Count(t, db, "SELECT count(*) FROM outbox"); n != before+1 {
		t.Errorf("got %d events in the product's outbox after Uninstall, want 1", n-before)
	}
}

// TestRunFails checks that the sender ends with the error of its database.
func TestRunFails(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	if err := Run(t.Context(), Config{URL: db.SystemURL}); err == nil || !strings.Contains(err.Error(), "minimal") {
		t.Errorf("without its tables: got error %v, want one about the missing table", err)
	}
}
