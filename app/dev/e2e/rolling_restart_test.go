package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestRollingRestart replaces two APIs and two workers one after the other with SIGTERM, while clients place and read
// orders. No request fails, no order is placed twice, and each event arrives once.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	r, h := newRestaurant(t), newHook(t, nil)
	h.arrived = make(chan int, 100_000)
	r.subscribe(h)
	port := freePorts(t, 2)
	var apis, workers [2]*harness.Process
	var addresses []string
	for i := range apis {
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)))
		apis[i], workers[i] = apiAt(t, addresses[i]), worker(t, nil)
	}
	l := newLoad(t, r, addresses)
	progress := func() {
		t.Helper()
		before := l.placed.Load()
		eventually(t, "orders are placed", func() error { return atLeast(int(before)+15, int(l.placed.Load())) })
	}
	progress()
	for i := range apis {
		stopGracefully(t, apis[i])
		progress()
		apis[i] = apiAt(t, addresses[i])
		progress()
		stopGracefully(t, workers[i])
		progress()
		workers[i] = worker(t, nil)
		progress()
	}
	orders := l.stop()

	eventually(t, "every delivery is delivered", func() error { return r.undelivered(orders) })
	if n := count(t, "SELECT count(*) FROM orders WHERE store_id = $1", r.store); n != orders {
		t.Errorf("orders: got %d, want %d", n, orders)
	}
	if n, requests := h.events(0), len(h.all(t)); n != orders || requests != orders {
		t.Errorf("receiver: got %d requests for %d events, want %d for as many", requests, n, orders)
	}
	t.Logf("%d orders", orders)
}

// apiAt starts an API at an address. It accepts the tokens of the shared API.
func apiAt(t *testing.T, address string) *harness.Process {
	t.Helper()
	process, _, err := worldOf(t).serve(t.Context(), map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": worldOf(t).api, "COMANDA_DRAIN_DELAY": "2s",
	})
	must(t, err)
	t.Cleanup(process.Kill)
	return process
}

// stopGracefully stops a process with SIGTERM. The process must end without an error within a minute.
func stopGracefully(t *testing.T, p *harness.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must(t, p.Stop(ctx))
}

// load is a number of clients that place orders one after the other and read them.
type load struct {
	*restaurant

	balanced *comanda.Client
	placed   atomic.Int64
	stop     func() (orders int)
}

// newLoad starts the clients of several APIs. The test fails if a request fails.
func newLoad(t *testing.T, r *restaurant, addresses []string) *load {
	t.Helper()
	roots := worldOf(t).client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	balancer := &harness.Balancer{
		Addresses: addresses, TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"},
	}
	balanced, err := comanda.New("https://api.test", comanda.Config{
		APIKey: r.AccessToken(), HTTP: balancer.Client(time.Minute), MaxRetries: -1,
	})
	must(t, err)
	l := &load{restaurant: r, balanced: balanced}
	stopping := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 3 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stopping:
					return
				case <-time.After(30 * time.Millisecond):
				}
				if err := l.placeAndRead(t.Context()); err != nil {
					t.Errorf("order %d of client %d: got %v, want success", n, i, err)
					return
				}
				l.placed.Add(1)
			}
		})
	}
	end := sync.OnceFunc(func() {
		close(stopping)
		clients.Wait()
	})
	t.Cleanup(end)
	l.stop = func() int {
		end()
		return int(l.placed.Load())
	}
	return l
}

// placeAndRead places an order and reads it.
func (l *load) placeAndRead(ctx context.Context) error {
	placed, err := l.balanced.PlaceOrder(ctx, l.newOrder())
	if err != nil {
		return err
	}
	read, err := l.balanced.GetOrder(ctx, placed.ID)
	if err == nil && read.ID != placed.ID {
		err = fmt.Errorf("order %s instead of %s", read.ID, placed.ID)
	}
	return err
}
