package boot

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/pires/go-proxyproto"
)

// proxyHeaderTimeout is the time that a load balancer has to send the header of a connection.
const proxyHeaderTimeout = 5 * time.Second

// behindBalancers returns a listener whose connections from load balancers begin with a header of the PROXY protocol
// (v1 or v2), which names the client. A connection of a load balancer without such a header ends: all its clients would
// share one address. Connections from other peers pass unchanged, so that a header from them is not a request.
func behindBalancers(listener net.Listener, balancers []netip.Prefix, timeout time.Duration) net.Listener {
	return &proxyproto.Listener{
		Listener: listener, ReadHeaderTimeout: timeout, ValidateHeader: namesTCPClient,
		ConnPolicy: func(c proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			peer, err := netip.ParseAddrPort(c.Upstream.String())
			if err != nil {
				return proxyproto.REJECT, fmt.Errorf("%w: %w", proxyproto.ErrInvalidUpstream, err)
			}
			address := peer.Addr().Unmap().WithZone("")
			if slices.ContainsFunc(balancers, func(p netip.Prefix) bool { return p.Contains(address) }) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
	}
}

// namesTCPClient returns an error for a header that names a client of another protocol than TCP. A header without a
// client, as of a health check, is accepted: the client is the load balancer.
func namesTCPClient(header *proxyproto.Header) error {
	if _, tcp := header.SourceAddr.(*net.TCPAddr); header.SourceAddr != nil && !tcp {
		return fmt.Errorf("the PROXY protocol names %T, want a TCP address", header.SourceAddr)
	}
	return nil
}
