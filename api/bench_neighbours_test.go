package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// mostSlowdown is the permitted ratio of the median time of a request beside a hostile neighbour to that without one.
const mostSlowdown = 3

// BenchmarkNeighbours measures GET /products of one website while another one sends imports of 500 products with one
// API key, with the pools and the budgets of production. It fails if the median is more than mostSlowdown times that
// without imports, or a request fails.
func BenchmarkNeighbours(b *testing.B) {
	w := newNeighbours(b)
	for b.Loop() {
		undisturbed := w.measure(b, 0)
		for _, imports := range []int{8, 24, 40} {
			if median := w.measure(b, imports); median > mostSlowdown*undisturbed {
				b.Errorf("median with %d imports: got %v, want at most %d times %v", imports, median, mostSlowdown,
					undisturbed)
			}
		}
	}
}

// neighbours are a server and the API keys of two websites.
type neighbours struct {
	server         *httptest.Server
	hostile, other string
	rows           string
}

func newNeighbours(b *testing.B) *neighbours {
	database := persistencetest.New(b)
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, Pools: pg.ServePools(24),
		Sealer: persistencetest.Keyring().Sealer(),
	})
	must(err)
	b.Cleanup(func() { db.Close() })
	w := &neighbours{server: httptest.NewTLSServer(New(Config{
		DB: db, Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: time.Hour, RefreshTTL: time.Hour,
		Log: zerolog.New(io.Discard),
	}))}
	b.Cleanup(w.server.Close)
	w.server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = 50
	key := func(name string) string {
		_, stores, err := db.CreateWebsite(b.Context(), noon, identity.NewWebsite{
			Name: name, Domain: name + ".test", Plan: app.PlanEnterprise,
		}, newStores([]string{name})...)
		must(err)
		issued, err := db.IssueAPIKey(b.Context(), noon, stores[0],
			app.NewAPIKey{Name: name, Scopes: []app.Scope{app.ScopeWriteProducts}})
		must(err)
		return issued.Key.Reveal()
	}
	w.hostile, w.other = key("hostile"), key("other")
	var rows strings.Builder
	for i := range 500 {
		fmt.Fprintf(&rows, `{"sku":"%d","name":"Dish %d","priceMinor":100,"currency":"EUR","position":POSITION},`, i, i)
	}
	w.rows = "[" + strings.TrimSuffix(rows.String(), ",") + "]"
	w.send(b.Context(), w.other, "POST", "/products/import", strings.ReplaceAll(w.rows, "POSITION", "0"))
	return w
}

// send sends a request and returns its status, and the time after which to repeat it.
func (w *neighbours) send(ctx context.Context, key, method, path, body string) (int, time.Duration) {
	r, err := http.NewRequestWithContext(ctx, method, w.server.URL+path, strings.NewReader(body))
	must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := w.server.Client().Do(r)
	if err != nil {
		return 0, 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	after, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return response.StatusCode, time.Duration(after) * time.Second
}

// measure returns the median time of a request beside a number of concurrent imports.
func (w *neighbours) measure(b *testing.B, imports int) time.Duration {
	ctx, stop := context.WithCancel(b.Context())
	var wait sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for i := range imports {
		wait.Go(func() {
			for n := i; ctx.Err() == nil; n += imports {
				status, after := w.send(ctx, w.hostile, "POST", "/products/import",
					strings.ReplaceAll(w.rows, "POSITION", strconv.Itoa(n)))
				mu.Lock()
				statuses[status]++
				mu.Unlock()
				select {
				case <-time.After(after):
				case <-ctx.Done():
				}
			}
		})
	}
	var m meter
	failed := 0
	for began := time.Now(); len(m.single) < 50 || time.Since(began) < 5*time.Second; {
		time.Sleep(20 * time.Millisecond)
		m.round(1, 1, func() {
			if status, _ := w.send(ctx, w.other, "GET", "/products?limit=20", ""); status != 200 {
				failed++
			}
		})
	}
	stop()
	wait.Wait()
	if failed > 0 {
		b.Errorf("with %d imports: %d of %d requests failed", imports, failed, len(m.single))
	}
	b.Logf("%2d imports: median %v, 99 %% within %v, %d of %d failed; imports by status: %v", imports,
		m.at(50).Round(100*time.Microsecond), m.p99().Round(100*time.Microsecond), failed, len(m.single), statuses)
	return m.at(50)
}
