package persistence_test

import (
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

func TestUnreachableDatabaseIsUnavailable(t *testing.T) {
	t.Parallel()
	db, err := persistence.Open(persistence.Config{URL: "postgres://nobody@127.0.0.1:1/none?connect_timeout=2"})
	must(t, err)
	defer db.Close()
	if err := db.Ping(t.Context()); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("Ping: got error %v, want %s", err, app.CodeUnavailable)
	}
	if _, err := db.Order(t.Context(), "sto_1", "ord_1", ""); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("Order: got error %v, want %s", err, app.CodeUnavailable)
	}
	if _, err := db.RecordAttempt(t.Context(), app.MadeAttempt{}); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("RecordAttempt: got error %v, want %s", err, app.CodeUnavailable)
	}
}
