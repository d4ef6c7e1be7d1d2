package boot

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/webhook"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestDeliveryAfterKeyIsRemoved removes the old key after comanda admin reseal. A worker with only the new key then
// signs the webhook with the same secret.
func TestDeliveryAfterKeyIsRemoved(t *testing.T) {
	t.Parallel()
	const oldKey, newKey = "an older key of at least 32 bytes in all", "a newer key of at least 32 bytes in all"
	const secret = "a secret that nobody may ever see"
	db := persistencetest.New(t)
	r := persistencetest.Open(t, db, "one.example")
	verifier, err := webhook.New(secret)
	persistencetest.Must(t, err)
	verified := make(chan error, 10)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, err := verifier.Verify(request)
		verified <- err
	}))
	t.Cleanup(receiver.Close)
	before := withKeys(t, db, oldKey)
	_, err = before.CreateSubscription(t.Context(), time.Now(), r.Stores[0], app.Actor{}, app.NewSubscription{
		URL: receiver.URL, Events: []app.EventType{app.EventOrderCreated}, Secret: app.NewSecret(secret),
	}, nil)
	persistencetest.Must(t, err)
	_, err = before.PlaceOrder(t.Context(), time.Now(), r.Stores[0], r.Order(t, db, 0), nil)
	persistencetest.Must(t, err)
	_, err = before.Dispatch(t.Context(), time.Now(), 10)
	persistencetest.Must(t, err)
	claims := persistencetest.Claim(t, db)
	if len(claims) != 1 {
		t.Fatalf("claims: got %+v, want one", claims)
	}

	roots := x509.NewCertPool()
	roots.AddCert(receiver.Certificate())
	egress := activities.NewEgress(activities.EgressConfig{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, RootCAs: roots,
	})
	deliver := func(keys string) (activities.DeliverResult, error) {
		worker := activities.NewDeliveries(withKeys(t, db, keys), egress,
			activities.DefaultDeliveryPolicy(10*time.Second), time.Now, prometheus.NewRegistry(), zerolog.Nop())
		return worker.Deliver(t.Context(), activities.DeliverInput{DeliveryID: claims[0].ID, Attempt: 1})
	}
	if result, err := deliver(newKey); err == nil {
		t.Errorf("delivery before reseal with the new key only: got %+v, want an error", result)
	}
	var out bytes.Buffer
	environ := loginsOf(db)
	environ["COMANDA_SECRET_KEYS"] = newKey + "," + oldKey
	persistencetest.Must(t, Reseal(t.Context(), environ, &out))
	if !strings.Contains(out.String(), "can be removed") {
		t.Errorf("reseal printed %q, want that the old key can be removed", out.String())
	}
	result, err := deliver(newKey)
	if err != nil || result.Outcome != activities.OutcomeDelivered || len(verified) != 1 {
		t.Fatalf("delivery: got %+v, error %v and %d requests, want one", result, err, len(verified))
	}
	if err := <-verified; err != nil {
		t.Errorf("signature: %v", err)
	}
}

// withKeys opens a database with keys.
func withKeys(t *testing.T, of *persistencetest.Database, keys string) *persistence.DB {
	t.Helper()
	ring, err := app.NewKeyring(app.NewSecret(keys))
	persistencetest.Must(t, err)
	db, err := persistence.Open(persistence.Config{
		URL: of.URL, SystemURL: of.SystemURL, Sealer: ring.Sealer(), MaxConns: 4,
	})
	persistencetest.Must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}
