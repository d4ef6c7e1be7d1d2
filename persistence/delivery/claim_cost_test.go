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

// The policy and the size of a claim bound the rows and index entries that it reads. Neither the
// backlog nor the number of websites and webhooks matters.
func TestClaimCostIsBounded(t *testing.T) {
	t.Parallel()
	policy := delivery.DefaultPolicy()
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
		for _, test := range []struct{ websites, webhooks, deliveries, batch int }{
			{1, 1, 10_000, 64}, {1, 1, 40_000, 64}, {1, 1_000, 40, 64}, {1, 4_000, 10, 2}, {400, 10, 10, 64},
			{2_000, 2, 10, 512},
		} {
			name := fmt.Sprintf("%s, %d websites, %d webhooks, %d deliveries, batches of %d", plan, test.websites,
				test.webhooks, test.deliveries, test.batch)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				database := persistencetest.New(t)
				r := open(t, database, "one.example")
				r.backlogs(t, database, "w", plan, test.websites, test.webhooks, test.deliveries)
				owner, err := pgx.Connect(t.Context(), database.OwnerURL)
				must(t, err)
				defer owner.Close(t.Context())
				vacuum(t, owner)
				db, err := persistence.Open(persistence.Config{
					URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1,
					Sealer: persistencetest.Keyring().Sealer(),
				})
				must(t, err)
				defer db.Close()
				for range 3 {
					must(t, db.FlushReads(t.Context()))
					before := reads(t, owner)
					claims := claimOnce(t, db.Queue, noon, batches(test.batch))
					must(t, db.FlushReads(t.Context()))
					read := reads(t, owner).minus(before)

					// A claim reads up to 20 rows and entries for each subscription and 20 for each claimed delivery.
					// In addition, it counts the deliveries of a queue up to the starts of its plan.
					queues := min(test.websites, policy.ClaimQueues, test.batch)
					most := 100 + 20*min(queues*test.webhooks, policy.ClaimSubscriptions) + 20*test.batch
					if limit, limited := plan.PerWindow(); limited {
						most += 2 * queues * limit
					}
					if len(claims) < test.batch || read.sequential > 0 || read.fetched+read.entries > most {
						t.Errorf("got %d claims reading %+v, want %d reading at most %d", len(claims), read, test.batch,
							most)
					}
				}
			})
		}
	}
}

// The cost of a claim does not depend on the backlog of a webhook. Statistics do not help the planner: either the plans
// were made for empty tables and stay in use, or the tables have grown since they were analyzed.
func TestClaimCostIsIndependentOfBacklog(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"early plans": "force_generic_plan", "late plans": "force_custom_plan"} {
		for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanStarter} {
			t.Run(fmt.Sprint(plan, ", ", name), func(t *testing.T) {
				t.Parallel()
				shortest := claimReadsOf(t, mode, plan, 600)
				for _, deliveries := range []int{6_000, 20_000} {
					if read := claimReadsOf(t, mode, plan, deliveries); read > shortest+shortest/20 {
						t.Errorf("%d deliveries: read %d rows and entries, want at most %d as beside 600 deliveries",
							deliveries, read, shortest)
					}
				}
			})
		}
	}
}

// claimReadsOf returns the rows and index entries that a claim reads if one of three websites has a backlog.
func claimReadsOf(t *testing.T, mode string, plan app.Plan, deliveries int) int {
	t.Helper()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	db, err := persistence.Open(persistence.Config{
		URL: database.URL + "&plan_cache_mode=" + mode, SystemURL: database.SystemURL + "&plan_cache_mode=" + mode,
		MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	r.backlogs(t, database, "first", plan, 1, 1, 1)
	claimOnce(t, db.Queue, noon, batches(64)) // plans the statements
	r.backlogs(t, database, "long", plan, 1, 1, deliveries)
	r.backlogs(t, database, "quiet", plan, 2, 1, 1)
	must(t, db.FlushReads(t.Context()))
	before := reads(t, owner)
	claims := claimOnce(t, db.Queue, noon, batches(64))
	must(t, db.FlushReads(t.Context()))
	read := reads(t, owner).minus(before)
	if len(claims) < 40 || perQueue(claims)["quiet1"] != 1 || read.sequential > 0 {
		t.Errorf("%d deliveries: got claims %v reading %+v, want 40 or more with each website", deliveries,
			perQueue(claims), read)
	}
	return read.fetched + read.entries
}

// Marking a claim reads its own row, not those of all other claims.
func TestMarkCostIsBounded(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	r.backlogs(t, database, "w", app.PlanEnterprise, 100, 2, 10)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	vacuum(t, owner)
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	claims := claimOnce(t, db.Queue, noon, batches(512))
	for _, test := range []struct {
		name string
		mark func() error
	}{
		{"unclaim", func() error { return db.Unclaim(t.Context(), noon, claims) }},
		{"requeue", func() error { return db.Requeue(t.Context(), claims) }},
		{"mark", func() error { return db.MarkStarted(t.Context(), noon, claims) }},
	} {
		must(t, db.FlushReads(t.Context()))
		before := reads(t, owner)
		must(t, test.mark())
		must(t, db.FlushReads(t.Context()))
		read := reads(t, owner).minus(before)
		if most := 10 * len(claims); len(claims) < 512 || read.sequential > 0 || read.fetched+read.entries > most {
			t.Errorf("%s of %d claims read %+v, want at most %d", test.name, len(claims), read, most)
		}
	}
}

// A claim and the backlog pass neither in tables nor in indexes the deliveries that are queued behind the first ones of
// each webhook.
func TestReadsStayAtFirstDeliveries(t *testing.T) {
	t.Parallel()
	claim := func(db *persistence.DB) error {
		_, err := db.Claim(t.Context(), noon, batches(8))
		return err
	}
	backlog := func(db *persistence.DB) error {
		_, err := db.Backlog(t.Context(), noon)
		return err
	}
	shortest := blocksReadBeside(t, 20, claim, backlog)
	for i, read := range blocksReadBeside(t, 600, claim, backlog) {
		if read > 4*shortest[i] { // the backlog counts up to app.BacklogLimit deliveries
			t.Errorf("step %d: read %d blocks beside 600 deliveries of each webhook, want about %d as beside 20",
				i, read,
				shortest[i])
		}
	}
}

// blocksReadBeside returns the blocks of deliveries and of their indexes that each step reads if each webhook of a
// website has a backlog.
func blocksReadBeside(t *testing.T, deliveries int, steps ...func(db *persistence.DB) error) (blocks []int) {
	t.Helper()
	database := persistencetest.New(t)
	r := open(t, database, "one.example")
	r.backlogs(t, database, "w", app.PlanEnterprise, 1, 100, deliveries)
	owner, err := pgx.Connect(t.Context(), database.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	vacuum(t, owner)
	endOthers(t, owner)
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 1, Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer db.Close()
	count := func() (n int) {
		must(t, db.FlushReads(t.Context()))
		must(t, owner.QueryRow(t.Context(), `SELECT heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit
			FROM pg_statio_user_tables WHERE relname = 'deliveries'`).Scan(&n))
		return n
	}
	for _, step := range steps {
		must(t, step(db)) // plans the statements
		before := count()
		must(t, step(db))
		blocks = append(blocks, count()-before)
	}
	return blocks
}
