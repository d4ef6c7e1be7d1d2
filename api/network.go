package api

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// encrypted reports whether the client used HTTPS. X-Forwarded-Proto of a trusted proxy takes precedence over the
// connection; other peers' is ignored (docs/behaviour.md#https-only).
func (s *Server) encrypted(r *http.Request) bool {
	if protocols := r.Header.Values("X-Forwarded-Proto"); len(protocols) > 0 && s.trusted(peer(r)) {
		return len(protocols) == 1 && strings.EqualFold(protocols[0], "https")
	}
	return r.TLS != nil
}

// clientAddr returns the address of the client: the peer's or, if the peer is a trusted proxy, the
// rightmost address in X-Forwarded-For that is not a trusted proxy's. Addresses left of it can be forged.
func (s *Server) clientAddr(r *http.Request) netip.Addr {
	client := peer(r)
	// Values of other peers are not read, and those of trusted proxies no further than needed.
	for _, value := range slices.Backward(r.Header.Values("X-Forwarded-For")) {
		for more := true; more; {
			if !s.trusted(client) {
				return client
			}
			last := strings.LastIndexByte(value, ',')
			hop, ok := parseAddr(strings.TrimSpace(value[last+1:]))
			if !ok {
				return client
			}
			client, value, more = hop, value[:max(last, 0)], last >= 0
		}
	}
	return client
}

func (s *Server) trusted(address netip.Addr) bool {
	for _, prefix := range s.proxies {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

func peer(r *http.Request) netip.Addr {
	address, _ := parseAddr(r.RemoteAddr)
	return address
}

// parseAddr parses an address with or without a port. IPv4 in IPv6 becomes IPv4.
func parseAddr(s string) (netip.Addr, bool) {
	if both, err := netip.ParseAddrPort(s); err == nil {
		return both.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return address.Unmap().WithZone(""), err == nil
}

// ClientNetwork returns the network that owns what the service holds for a client, such as connections and bodies: its
// address, or the /48 of IPv6, which has many addresses.
func ClientNetwork(client netip.Addr) string {
	if client.Is6() {
		return neighborhood(client)
	}
	return network(client)
}
