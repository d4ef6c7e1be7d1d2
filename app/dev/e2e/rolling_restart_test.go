package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestRollingRestart replaces two APIs and two workers one after the other with SIGTERM, while clients place and read
// orders. No request fails for good, no order is placed twice, and each event arrives once.
func TestRollingRestart(t *testing.T) {
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
	t.Logf("%d orders, %d requests repeated", orders, l.repeated.Load())
}

// apiAt starts an API at an address. It accepts the tokens of the shared API.
func apiAt(t *testing.T, address string) *harness.Process {
	t.Helper()
	needWorld(t)
	process, _, err := the.serve(t.Context(), map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": the.api,
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

// load is a number of clients that place orders one after the other, each with an Idempotency-Key, and read them.
type load struct {
	*restaurant
	client *http.Client
	body   []byte
	placed atomic.Int64
	// repeated counts requests that were repeated because they got no response.
	repeated atomic.Int64
	stop     func() (orders int)
}

// newLoad starts the clients of several APIs. The test fails if a request fails.
func newLoad(t *testing.T, r *restaurant, addresses []string) *load {
	t.Helper()
	body, err := json.Marshal(r.newOrder())
	must(t, err)
	roots := the.client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	balancer := &harness.Balancer{
		Addresses: addresses, TLS: &tls.Config{RootCAs: roots, ServerName: "localhost"},
	}
	l := &load{restaurant: r, client: balancer.Client(time.Minute), body: body}
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
				if err := l.placeAndRead(t.Context(), fmt.Sprintf("client-%d-%d", i, n)); err != nil {
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
func (l *load) placeAndRead(ctx context.Context, key string) error {
	placed, err := l.send(ctx, "POST", "/orders", key, http.StatusCreated)
	if err != nil {
		return err
	}
	read, err := l.send(ctx, "GET", "/orders/"+string(placed.ID), "", http.StatusOK)
	if err == nil && read.ID != placed.ID {
		err = fmt.Errorf("order %s instead of %s", read.ID, placed.ID)
	}
	return err
}

// send sends a request, whose response must have a status. If it gets no response, it repeats the request with the same
// key, as clients must (contract §1, Idempotency), and counts that.
func (l *load) send(ctx context.Context, method, path, key string, status int) (order app.Order, err error) {
	for range 5 {
		var code int
		var text []byte
		if code, text, err = l.sendOnce(ctx, method, path, key); err == nil && code == status {
			var answer struct{ Data app.Order }
			err = json.Unmarshal(text, &answer)
			return answer.Data, err
		}
		if err == nil {
			err = fmt.Errorf("%s %s: status %d: %s", method, path, code, text)
			if !bytes.Contains(text, []byte(app.CodeIdempotencyKeyInUse)) {
				return order, err
			}
		}
		l.repeated.Add(1)
		time.Sleep(100 * time.Millisecond)
	}
	return order, err
}

func (l *load) sendOnce(ctx context.Context, method, path, key string) (status int, text []byte, err error) {
	var body io.Reader
	if method == "POST" {
		body = bytes.NewReader(l.body)
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://api.test"+path, body)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+l.token)
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	return response.StatusCode, text, err
}
