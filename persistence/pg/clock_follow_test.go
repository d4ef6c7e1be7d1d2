package pg_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// A clock that differs from that of the database is corrected by the next reading, and again each second.
func TestClockFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	db, err := pg.Open(pg.Config{URL: database.URL, SystemURL: database.SystemURL, Pools: pg.WorkerPools(pg.MinConns)})
	must(t, err)
	defer db.Close()
	isRight := func() bool { return time.Since(db.Now()).Abs() < time.Minute } // tests share the clock with PostgreSQL
	db.SetClock(time.Now().Add(time.Hour))
	must(t, db.ReadClock(t.Context()))
	if !isRight() {
		t.Errorf("after a reading: got %s, want the time of the database", db.Now())
	}
	ctx, end := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { db.FollowClock(ctx) })
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		db.SetClock(time.Now().Add(ahead))
		for deadline := time.Now().Add(time.Minute); !isRight() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if !isRight() {
			t.Errorf("%s ahead: got %s, want the time of the database", ahead, db.Now())
		}
	}
	end()
	following.Wait()
}
