package api

import (
	"context"
	"net/netip"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// In each pool, one website, one client network, and all requests without a credential leave at least half of the
// connections to others, with any number of connections.
func TestSharesOfPools(t *testing.T) {
	t.Parallel()
	eachLayout(t, func(conns int, db *persistence.DB, work *work) {
		stores, across, lookups := db.Conns()
		for name, c := range shares(work) {
			size := map[string]int{"stores": stores, "across": across, "lookups": lookups}[c.pool]
			if got := work.fill(t, c.limits); got > size/2 || got == 0 {
				t.Errorf("%d connections, %s: got %d of %d, want at most %d", conns, name, got, size, size/2)
			}
		}
	})
}

// The requests of all websites leave connections for all stores to logins and refreshes.
func TestWebsitesLeaveConnectionsToLogins(t *testing.T) {
	t.Parallel()
	eachLayout(t, func(conns int, db *persistence.DB, work *work) {
		_, across, _ := db.Conns()
		got := work.fill(t, []func(int) []gateLimit{func(i int) []gateLimit {
			c := stranger(neighbor(i), app.ViewStore)
			c.route.Across = true
			return work.limits(c, neighbor(i))
		}})
		if most := across - (across+3)/4; got != most || got >= across {
			t.Errorf("%d connections: got %d of %d for websites, want %d", conns, got, across, most)
		}
	})
}

// eachLayout calls f with the pools of each number of connections, and with their work, which does not wait.
func eachLayout(t *testing.T, f func(conns int, db *persistence.DB, work *work)) {
	t.Helper()
	for conns := pg.MinConns; conns <= 100; conns++ {
		db, err := persistence.Open(persistence.Config{
			URL: "postgres://u@127.0.0.1:1/db?sslmode=disable", Pools: pg.ServePools(conns),
		})
		if err != nil {
			t.Fatal(err)
		}
		work := newWork(Config{DB: db})
		work.wait = 0
		f(conns, db, work)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// poolShare are the kinds of work of one owner that use connections of a pool.
type poolShare struct {
	pool   string
	limits []func(i int) []gateLimit // of the i-th attempt, each from another network
}

// stranger is a request of a client without a credential, or with an unknown one.
func stranger(client string, permission app.Permission) *call {
	return &call{
		route: &route{Permission: permission}, exchange: &exchange{client: netip.MustParseAddr(client)},
	}
}

func shares(w *work) map[string]poolShare {
	const website = "web_hostile"
	member := func(rt route) func(int) []gateLimit {
		rt.Permission = app.ViewStore
		return func(int) []gateLimit {
			c := stranger(neighbor(0), rt.Permission)
			c.route, c.principal = &rt, app.Principal{WebsiteID: website, StoreID: "sto_hostile"}
			return w.limits(c, website)
		}
	}
	naming := func(limits func(*call) []gateLimit) func(int) []gateLimit {
		return func(i int) []gateLimit {
			c := stranger(neighbor(i), public)
			c.website = website
			return limits(c)
		}
	}
	anyone := func(limits func(*call) []gateLimit, permission app.Permission) func(int) []gateLimit {
		return func(i int) []gateLimit { return limits(stranger(neighbor(i), permission)) }
	}
	alone := func(permission app.Permission) func(int) []gateLimit {
		return func(int) []gateLimit { return w.lookupLimits(stranger(neighbor(0), permission)) }
	}
	return map[string]poolShare{
		"a website in the pool of stores": {"stores", []func(int) []gateLimit{
			member(route{Load: anImport}), member(route{Load: anExport}), member(route{Load: heavy}), member(route{}),
			member(route{Across: true}), naming(w.publicLimits), naming(w.limitsAfterwards),
		}},
		"a website in the pool of all stores": {"across", []func(int) []gateLimit{
			member(route{Across: true}), naming(w.publicLimits), naming(w.limitsAfterwards),
		}},
		"a website in the pool of lookups": {"lookups", []func(int) []gateLimit{
			func(int) []gateLimit {
				c := stranger(neighbor(0), app.ViewStore)
				c.principal.WebsiteID = website
				return w.lookupLimits(c)
			},
			naming(w.lookupLimits),
		}},
		"requests without a credential in the pool of all stores": {"across", []func(int) []gateLimit{
			anyone(w.limitsAfterwards, public), anyone(w.publicLimits, public),
		}},
		"requests without a credential in the pool of lookups": {"lookups", []func(int) []gateLimit{
			anyone(w.lookupLimits, public), anyone(w.lookupLimits, byRefreshToken), naming(w.lookupLimits),
			func(i int) []gateLimit { return w.originLimits(neighbor(i)) },
		}},
		"a client network in the pool of lookups": {"lookups", []func(int) []gateLimit{
			alone(app.ViewStore), alone(public), alone(byRefreshToken),
			func(int) []gateLimit { return w.originLimits(neighbor(0)) },
		}},
	}
}

// fill takes as many places as there are for some kinds of work, the later kinds first, and returns their number.
func (w *work) fill(t *testing.T, kinds []func(int) []gateLimit) (n int) {
	t.Helper()
	const attempts = 120 // more than any pool of the test has connections
	var all []*places
	for i := range attempts {
		for k := len(kinds) - 1; k >= 0; k-- {
			p := &places{work: w}
			if p.begin(context.Background(), kinds[k](i)...) == nil {
				n++
			}
			all = append(all, p)
		}
	}
	for _, p := range all {
		p.leave()
	}
	if len(w.gates) != 0 {
		t.Errorf("gates without work: got %d, want 0", len(w.gates))
	}
	return n
}
