package delivery_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Each index of deliveries has a statement that uses it. A delivery that succeeds is inserted and updated twice, and
// each of these writes the indexes that contain its row.
func TestIndexesOfDeliveriesAreUsed(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	rows, err := owner.Query(t.Context(), "SELECT indexname FROM pg_indexes WHERE tablename = 'deliveries'")
	must(t, err)
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	const ofStore = "deliveries_of_store" // of the list, which is made of parts
	list, err := db.ExplainDeliveries(t.Context(), "sto_1", app.DeliveryFilter{}, 50)
	must(t, err)
	plans := map[string]string{ofStore: list}
	for index, statement := range delivery.StatementsOfIndexes() {
		plans[index], err = db.Explain(t.Context(), statement.SQL, statement.Args)
		must(t, err)
	}
	unused := map[string]string{}
	for _, index := range indexes {
		if !strings.Contains(plans[index], index) {
			unused[index] = plans[index]
		}
		delete(plans, index)
	}
	if diff := cmp.Diff(map[string]string{}, unused); diff != "" {
		t.Errorf("indexes without a statement that uses them (-want +got):\n%s", diff)
	}
	for index := range plans {
		t.Errorf("there is no index %s", index)
	}
}
