package activities

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// trap listens on the loopback address and fails the test if a client connects. It returns the port.
func trap(t *testing.T) (port string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Error("a connection reached the loopback address")
			conn.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	return port
}

// Every address that is not public unicast is blocked when it is dialled, in every notation.
func TestEgressBlocksPrivateAddresses(t *testing.T) {
	t.Parallel()
	port := trap(t)
	e := NewEgress(EgressConfig{Timeout: time.Minute}) // longer than the resolver waits for servers
	for kind, hosts := range map[string][]string{
		"loopback":    {"127.0.0.1", "127.255.255.254", "localhost", "[::1]"},
		"unspecified": {"0.0.0.0", "0.1.2.3", "[::]"},
		"private": {
			"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "[fc00::1]", "[fd00:ec2::254]", "[fec0::1]",
		},
		"link-local":    {"169.254.169.254", "169.254.170.2", "[fe80::1]"},
		"metadata":      {"168.63.129.16", "[::ffff:168.63.129.16]"},
		"CGNAT":         {"100.64.0.1", "100.127.255.255"},
		"multicast":     {"224.0.0.1", "239.255.255.255", "[ff02::1]"},
		"reserved":      {"240.0.0.1", "255.255.255.255", "192.0.0.1", "198.18.0.1", "[100::1]"},
		"documentation": {"192.0.2.1", "198.51.100.1", "203.0.113.1", "[2001:db8::1]"},
		"IPv4-mapped":   {"[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::ffff:7f00:1]"},
		"IPv4 in IPv6": {
			"[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]",
			"[2002:7f00:1::]", "[2002:a9fe:a9fe::]", "[2001:0:7f00:1::]",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			for _, host := range hosts {
				_, err := post(e, "https://"+host+":"+port+"/")
				if err == nil || err.Error() != "the address is not public" {
					t.Errorf("%s: %s: %v, want the address is not public", kind, host, err)
				}
			}
		})
	}
	// The resolver decides whether these are addresses or names. All of them must fail.
	odd := []string{"2130706433", "0x7f000001", "0x7f.1", "017700000001", "127.1", "127.0.0.1.", "localhost."}
	for _, host := range odd {
		_, err := post(e, "https://"+host+":"+port+"/")
		if err == nil ||
			err.Error() != "the address is not public" && err.Error() != "the host name could not be resolved" {
			t.Errorf("%s: %v, want the address is not public, or the host name could not be resolved", host, err)
		}
	}
}

// names is a resolver whose DNS server responds with the addresses that the function returns. Its argument is the
// number of the query for IPv4 addresses, from 1.
func names(t *testing.T, addresses func(query int32) []netip.Addr) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var queries atomic.Int32
	go func() {
		packet := make([]byte, 1500)
		for {
			n, peer, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(packet[:n]) != nil {
				continue
			}
			question := query.Questions[0]
			header := dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true}
			reply := dnsmessage.Message{Header: header, Questions: query.Questions}
			if question.Type == dnsmessage.TypeA {
				for _, address := range addresses(queries.Add(1)) {
					reply.Answers = append(reply.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{
							Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET,
						},
						Body: &dnsmessage.AResource{A: address.As4()},
					})
				}
			}
			if packed, err := reply.Pack(); err == nil {
				conn.WriteTo(packed, peer)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// A name is resolved once per connection, and the checked address is the dialled one. A private address is blocked even
// if a public address was returned before or together with it.
func TestEgressBlocksNamesOfPrivateAddresses(t *testing.T) {
	t.Parallel()
	port := trap(t)
	loopback, private := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.1.2.3")
	open := netip.MustParsePrefix("127.0.0.77/32") // nothing listens on this address
	always := func(addresses ...netip.Addr) func(int32) []netip.Addr {
		return func(int32) []netip.Addr { return addresses }
	}
	for name, test := range map[string]struct {
		addresses func(query int32) []netip.Addr
		last      string // error of the second POST
	}{
		"a name of loopback":         {always(loopback), "the address is not public"},
		"a name of several":          {always(private, loopback), "the address is not public"},
		"an open one beside another": {always(loopback, open.Addr()), "the address is not public"},
		"rebinding": {func(query int32) []netip.Addr {
			if query == 1 {
				return []netip.Addr{open.Addr()}
			}
			return []netip.Addr{loopback}
		}, "the address is not public"},
		"no address": {always(), "the host name could not be resolved"},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEgress(
				EgressConfig{Timeout: time.Minute, Allow: []netip.Prefix{open}, resolver: names(t, test.addresses)},
			)
			var err error
			for range 2 {
				_, err = post(e, "https://hooks.example:"+port+"/")
			}
			if err == nil || err.Error() != test.last {
				t.Errorf("%s: second POST: %v, want %q", name, err, test.last)
			}
		})
	}
}
