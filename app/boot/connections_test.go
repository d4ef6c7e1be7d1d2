package boot

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// dialFrom opens a connection from a local address.
func dialFrom(t *testing.T, from string, to net.Addr) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Silent connections of one address get at most half of the free ones. The rest are closed, and a request of another
// address succeeds. The connections of a proxy, which has many clients, get all.
func TestConnectionsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proxies []netip.Prefix
		open    int
	}{
		"a client": {nil, 5},
		"a proxy":  {[]netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Listener = limitConnections(server.Listener, 10, test.proxies)
			server.Start()
			t.Cleanup(server.Close)
			const silent = 30
			most := silent
			if test.proxies != nil {
				most = test.open // of all
			}
			closed := make(chan struct{})
			var held []net.Conn
			for range most {
				conn := dialFrom(t, "127.0.0.2", server.Listener.Addr())
				held = append(held, conn)
				go func() {
					_, _ = io.Copy(io.Discard, conn)
					closed <- struct{}{}
				}()
			}
			for range most - test.open {
				<-closed
			}
			response, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatalf("request of another address: got error %v, want a response", err)
			}
			response.Body.Close()
			for _, conn := range held {
				conn.Close()
			}
			for range test.open {
				<-closed
			}
		})
	}
}
