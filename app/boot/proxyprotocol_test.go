package boot

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/pires/go-proxyproto"
)

// balanced is a server whose response is the address of the client. 127.0.0.2 is the load balancer.
func balanced(t *testing.T, timeout time.Duration) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, netip.MustParseAddrPort(r.RemoteAddr).Addr().String())
	}))
	server.Listener = behindBalancers(server.Listener, []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}, timeout)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// connect opens a connection to a server from an address.
func connect(t *testing.T, server *httptest.Server, from string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	connection, err := dialer.DialContext(t.Context(), "tcp4", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

// ask sends bytes, then a request over TLS, and returns the response, "" if the server ends the connection.
func ask(t *testing.T, server *httptest.Server, from string, header []byte) string {
	t.Helper()
	connection := connect(t, server, from)
	if _, err := connection.Write(header); err != nil {
		t.Fatal(err)
	}
	client := tls.Client(connection, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own server
	if client.HandshakeContext(t.Context()) != nil {
		return ""
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err := request.Write(client); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(client), request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// proxyHeader returns a header of a version that names a client.
func proxyHeader(t *testing.T, version byte, client net.Addr) []byte {
	t.Helper()
	header, err := proxyproto.HeaderProxyFromAddrs(version, client, client).Format()
	if err != nil {
		t.Fatal(err)
	}
	return header
}

// Only a load balancer names the client, in each connection, below TLS.
func TestProxyProtocol(t *testing.T) {
	t.Parallel()
	server := balanced(t, proxyHeaderTimeout)
	v4 := &net.TCPAddr{IP: net.ParseIP("203.0.113.7"), Port: 1}
	v6 := &net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 1}
	const balancer, other = "127.0.0.2", "127.0.0.3"
	for name, c := range map[string]struct {
		from   string
		header []byte
		want   string // "" = the connection ends
	}{
		"v1":                         {balancer, proxyHeader(t, 1, v4), "203.0.113.7"},
		"v1 of IPv6":                 {balancer, proxyHeader(t, 1, v6), "2001:db8::7"},
		"v2":                         {balancer, proxyHeader(t, 2, v4), "203.0.113.7"},
		"v2 of IPv6":                 {balancer, proxyHeader(t, 2, v6), "2001:db8::7"},
		"v1 without a client":        {balancer, []byte("PROXY UNKNOWN\r\n"), balancer},
		"v2 of UDP":                  {balancer, proxyHeader(t, 2, &net.UDPAddr{IP: v4.IP, Port: 1}), ""},
		"balancer without a header":  {balancer, nil, ""},
		"balancer with a bad header": {balancer, []byte("PROXY TCP4 203.0.113.7\r\n"), ""},
		"two headers":                {balancer, append(proxyHeader(t, 1, v4), proxyHeader(t, 1, v6)...), ""},
		"another peer":               {other, nil, other},
		"v1 of another peer":         {other, proxyHeader(t, 1, v4), ""},
		"v2 of another peer":         {other, proxyHeader(t, 2, v4), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t, server, c.from, c.header); got != c.want {
				t.Errorf("client: got %q, want %q", got, c.want)
			}
		})
	}
}

// A load balancer that does not complete its header delays no other connection, and its connection ends.
func TestSlowProxyHeader(t *testing.T) {
	t.Parallel()
	server := balanced(t, 100*time.Millisecond)
	for _, part := range []string{"", "PROXY TCP4 203."} {
		slow := connect(t, server, "127.0.0.2")
		if _, err := io.WriteString(slow, part); err != nil {
			t.Fatal(err)
		}
		if got := ask(t, server, "127.0.0.3", nil); got != "127.0.0.3" {
			t.Errorf("beside a slow header: got %q, want a response", got)
		}
		_, _ = io.Copy(io.Discard, slow) // returns when the server ends the connection
	}
}
