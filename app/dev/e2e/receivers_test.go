package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
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
// returns. Without respond it closes connections after the handshake.
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
				if respond == nil {
					_ = conn.(*tls.Conn).HandshakeContext(t.Context())
					return
				}
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

// silently writes a text and leaves the connection open until the sender closes it or the test ends.
func silently(text string) func(*testing.T, net.Conn) {
	return func(t *testing.T, conn net.Conn) {
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-t.Context().Done():
				conn.Close()
			case <-stop:
			}
		}()
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
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

func misbehaviours() map[string]misbehaviour {
	const (
		dead, delivered = comanda.DeliveryStatusDeadLetter, comanda.DeliveryStatusDelivered
		ok              = "HTTP/1.1 200 OK\r\n"
		upgrade         = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
		three           = "Content-Length: 9\r\n\r\nabc" // three of nine bytes
	)
	return map[string]misbehaviour{
		"closes immediately":        {nil, 0, dead},
		"closes after reading":      {once(""), 0, dead},
		"hangs":                     {silently(""), 0, dead},
		"101":                       {silently(upgrade), 101, dead},
		"101 and bytes without end": {endlessly(upgrade), 101, dead},
		"100 without end":           {endlessly("HTTP/1.1 100 Continue\r\n\r\n"), 0, dead},
		"103 without end":           {endlessly("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 0, dead},
		"half a status line":        {silently("HTTP/1.1 20"), 0, dead},
		"a header without end":      {endlessly(ok), 0, dead},
		"not HTTP":                  {endlessly("220 smtp.example ESMTP\r\n"), 0, dead},
		"a body that stops":         {silently(ok + three), 200, delivered},
		"a body without end":        {endlessly(ok + "\r\n" + strings.Repeat("x", 1000)), 200, delivered},
		"a refusal that stops":      {silently("HTTP/1.1 503 x\r\n" + three), 503, dead},
		"a body that breaks off":    {once(ok + three), 200, delivered},
		"two responses":             {once("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n" + ok + "\r\n"), 500, dead},
		"1xx before its response":   {once("HTTP/1.1 103 x\r\n\r\n" + ok + "\r\n"), 200, delivered},
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
	if len(attempts) != want || d.Attempts != want || m.respond != nil && requests != want {
		t.Errorf("%s: %d requests, %d attempts, %d recorded; want %d", name, requests, d.Attempts, len(attempts), want)
	}
}
