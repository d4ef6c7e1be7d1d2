package delivery_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// The rows and index entries that a claim reads are bounded by the policy and the size of the claim. They grow neither
// with the backlog, nor with the number of websites and webhooks.
func TestTheCostOfAClaimIsBounded(t *testing.T) {
	t.Parallel()
	policy := delivery.DefaultPolicy()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
		for _, test := range []struct{ websites, webhooks, deliveries, batch int }{
			{1, 1, 10_000, 64}, {1, 1, 40_000, 64}, {1, 1_000, 40, 64}, {1, 4_000, 10, 2}, {400, 10, 10, 64},
			{2_000, 2, 10, 512},
		} {
			t.Run(fmt.Sprint(plan, test), func(t *testing.T) {
				t.Parallel()
				database := persistencetest.New(t)
				r := open(t, database, "one.example")
				r.backlogs(t, database, "w", plan, test.websites, test.webhooks, test.deliveries)
				owner, err := pgx.Connect(t.Context(), database.OwnerURL)
				must(t, err)
				defer owner.Close(t.Context())
				vacuum(t, owner)
				db, err := persistence.Open(persistence.Config{
					URL: database.URL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
				})
				must(t, err)
				defer db.Close()
				for range 3 {
					must(t, db.FlushReads(t.Context()))
					before := reads(t, owner)
					claims := claimOnce(t, db.Queue, noon, batches(test.batch))
					must(t, db.FlushReads(t.Context()))
					read := reads(t, owner).minus(before)

					// 16 for each subscription that is read, 20 for each delivery that is claimed; and it counts the
					// deliveries of a queue up to the starts that its plan allows.
					queues := min(test.websites, policy.ClaimQueues, test.batch)
					most := 100 + 16*min(queues*test.webhooks, policy.ClaimSubscriptions) + 20*test.batch
					if limit, limited := plan.PerWindow(); limited {
						most += 2 * queues * limit
					}
					if len(claims) < test.batch || read.sequential > 0 || read.fetched+read.entries > most {
						t.Errorf("%d claims read %+v, at most %d", len(claims), read, most)
					}
				}
			})
		}
	}
}
