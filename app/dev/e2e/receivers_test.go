package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// rawReceiver is a receiver that need not speak HTTP.
type rawReceiver struct {
	url      string
	requests atomic.Int64 // requests that it has read completely
}

// newRawReceiver starts a receiver that reads one request of each connection, and closes the connection when respond
// returns.
func newRawReceiver(t *testing.T, respond func(t *testing.T, conn net.Conn)) *rawReceiver {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{worldOf(t).tls}})
	must(t, err)
	r := &rawReceiver{url: fmt.Sprintf("https://%s/hook", listener.Addr())}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				request, err := http.ReadRequest(bufio.NewReader(conn))
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, request.Body); err == nil {
					r.requests.Add(1)
					respond(t, conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return r
}

// endlessly writes a text until the connection breaks or the test ends.
func endlessly(text string) func(*testing.T, net.Conn) {
	return func(t *testing.T, conn net.Conn) {
		for t.Context().Err() == nil {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

// silently leaves the connection open until the sender closes it or the test ends.
func silently(t *testing.T, conn net.Conn) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-t.Context().Done():
			conn.Close()
		case <-stop:
		}
	}()
	_, _ = io.Copy(io.Discard, conn)
}

// misbehaviour is the behaviour of a receiver, with the expected record of its attempts.
type misbehaviour struct {
	respond func(*testing.T, net.Conn)
	code    int // the HTTP status, 0 = no response
	status  comanda.DeliveryStatus
}

// once writes a text and closes the connection.
func once(text string) func(*testing.T, net.Conn) {
	return func(_ *testing.T, conn net.Conn) { _, _ = io.WriteString(conn, text) }
}

// misbehaviours lists one receiver without a response, one that never ends its header, and one that breaks off after
// the status. Tests of activities.Egress have all others.
func misbehaviours() map[string]misbehaviour {
	const ok = "HTTP/1.1 200 OK\r\n"
	return map[string]misbehaviour{
		"hangs":                  {silently, 0, comanda.DeliveryStatusDeadLetter},
		"a header without end":   {endlessly(ok), 0, comanda.DeliveryStatusDeadLetter},
		"a body that breaks off": {once(ok + "Content-Length: 9\r\n\r\nabc"), 200, comanda.DeliveryStatusDelivered},
	}
}

// TestMisbehavingReceivers makes first attempts and retries, in bursts and in separate workflows, to receivers that
// violate the protocol. Each attempt is at most one POST, ends within its limit and is recorded. Other receivers are
// not affected.
func TestMisbehavingReceivers(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			behaves := newRestaurant(t)
			behaves.subscribe(newHook(t, nil))
			behaves.order()
			restaurants, receivers := map[string]*restaurant{}, map[string]*rawReceiver{}
			for name, one := range misbehaviours() {
				receivers[name], restaurants[name] = newRawReceiver(t, one.respond), newRestaurant(t)
				restaurants[name].subscribe(&hook{url: receivers[name].url})
				restaurants[name].order()
			}
			worker(t, map[string]string{
				"COMANDA_BURST": bursts, "COMANDA_DELIVERY_TIMEOUT": "5s", "COMANDA_RETRY_SCHEDULE": "1s",
			})
			behaves.delivery("delivered", withStatus(comanda.DeliveryStatusDelivered))
			for name, one := range misbehaviours() {
				one.check(t, name, restaurants[name], receivers[name])
			}
			part := count(t, "SELECT count(burst_id) FROM deliveries WHERE store_id = $1", behaves.store) == 1
			if part != (bursts == "always") {
				t.Errorf("part of a burst: got %t, want %t", part, !part)
			}
		})
	}
}

// check compares the requests of a receiver with the recorded attempts.
func (m misbehaviour) check(t *testing.T, name string, r *restaurant, receiver *rawReceiver) {
	t.Helper()
	d := r.delivery(name, withStatus(m.status))
	attempts := r.attempts(d.WebhookID)
	for _, a := range attempts {
		if a.StatusCode != m.code {
			t.Errorf("%s: attempt %d: got status %d (%s) after %d ms, want %d",
				name, a.AttemptNumber, a.StatusCode, a.Error, a.ResponseTimeMs, m.code)
		}
	}
	requests, want := int(receiver.requests.Load()), 1
	if m.status == comanda.DeliveryStatusDeadLetter {
		want = 2
	}
	if len(attempts) != want || d.Attempts != want || requests != want {
		t.Errorf("%s: %d requests, %d attempts, %d recorded; want %d", name, requests, d.Attempts, len(attempts), want)
	}
}
