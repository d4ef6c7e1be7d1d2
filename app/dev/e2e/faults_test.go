package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// proxied returns proxies to PostgreSQL and Temporal, and the settings of a process that connects through them.
func proxied(t *testing.T) (postgres, temporal *harness.Proxy, settings map[string]string) {
	t.Helper()
	postgres, err := harness.NewProxy(databaseHost(t))
	must(t, err)
	t.Cleanup(postgres.Close)
	settings = databaseAt(t, postgres.Address)
	temporal, err = harness.NewProxy(worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"])
	must(t, err)
	t.Cleanup(temporal.Close)
	settings["TEMPORAL_ADDRESS"] = temporal.Address
	return postgres, temporal, settings
}

// databaseVariables are the variables with the URLs of the two logins.
var databaseVariables = [...]string{"DATABASE_URL", "COMANDA_SYSTEM_DATABASE_URL"}

// databaseHost returns host and port of PostgreSQL.
func databaseHost(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(worldOf(t).infra.Ready.Env["DATABASE_URL"])
	must(t, err)
	return u.Host
}

// databaseAt returns the settings of a process that connects to PostgreSQL at a host and port.
func databaseAt(t *testing.T, host string) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for _, name := range databaseVariables {
		u, err := url.Parse(worldOf(t).infra.Ready.Env[name])
		must(t, err)
		u.Host = host
		settings[name] = u.String()
	}
	return settings
}

// TestCrashesAndOutages kills workers and makes PostgreSQL and Temporal temporarily unreachable while many orders are
// delivered and a tenth of the attempts fails. Afterwards every event has arrived, and every delivery is recorded as
// delivered.
func TestCrashesAndOutages(t *testing.T) {
	t.Parallel()
	const orders = 200
	postgres, temporal, settings := proxied(t)
	settings["COMANDA_RETRY_SCHEDULE"] = "1s,1s,1s,1s,1s,1s,1s,1s"
	r := newRestaurant(t)
	h := newHook(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := r.subscribe(h)

	w := worker(t, settings)
	var placing sync.WaitGroup
	placing.Go(func() {
		for range orders {
			if _, err := r.PlaceOrder(t.Context(), r.newOrder()); err != nil {
				t.Errorf("order: got %v, want it placed", err)
			}
		}
	})
	arrived := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d have arrived", n), func() error {
			if got := len(h.all(t)); got < n {
				return fmt.Errorf("%d", got)
			}
			return nil
		})
	}
	arrived(20)
	w.Kill()
	w = worker(t, settings)
	arrived(50)
	postgres.Cut()
	h.await(t) // attempts in flight continue
	postgres.Mend()
	arrived(90)
	temporal.Cut()
	w.Kill()
	temporal.Mend()
	worker(t, settings)
	placing.Wait()

	eventually(t, "every delivery is delivered", func() error {
		return r.undelivered(orders)
	})
	events := map[string]int{}
	for _, one := range h.all(t) {
		events[one.id]++
	}
	if len(events) != orders {
		t.Errorf("events: got %d, want %d", len(events), orders)
	}
	recorded, err := r.ListDeliveryAttempts(t.Context(), s.ID, comanda.ListDeliveryAttemptsParams{})
	must(t, err)
	t.Logf("%d requests for %d events, %d of them recorded as attempts", len(h.all(t)), orders, recorded.Meta.Total)
}

// undelivered returns an error unless n deliveries are delivered.
func (r *restaurant) undelivered(n int) error {
	r.t.Helper()
	var count int
	err := worldOf(r.t).db.System().DB.QueryRowContext(r.t.Context(),
		"SELECT count(*) FROM deliveries WHERE store_id = $1 AND status = 'delivered'", r.store).Scan(&count)
	if err != nil || count != n {
		return fmt.Errorf("%d of %d deliveries are delivered, error %v", count, n, err)
	}
	return nil
}

// TestTwoWorkers checks that concurrent workers share the deliveries, and stop gracefully without repeating attempts.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	first := worker(t, nil)
	worker(t, nil)
	r := newRestaurant(t)
	h := newHook(t, func(int, http.ResponseWriter, *http.Request) { time.Sleep(5 * time.Millisecond) })
	r.subscribe(h)
	for range 60 {
		r.order()
	}
	must(t, first.Stop(t.Context()))
	eventually(t, "every delivery is delivered", func() error { return r.undelivered(60) })
	if n := len(h.all(t)); n != 60 {
		t.Errorf("requests for 60 events: got %d, want 60", n)
	}
}
