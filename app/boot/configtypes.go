package boot

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// prefixList is a comma-separated list of CIDRs and addresses. "none" is the empty list.
type prefixList []netip.Prefix

// UnmarshalText parses the list.
func (l *prefixList) UnmarshalText(text []byte) error {
	*l = nil
	if s := strings.TrimSpace(string(text)); s == "" || s == "none" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			address, err := netip.ParseAddr(part)
			if err != nil {
				return fmt.Errorf("%q is neither an IP address nor a CIDR such as 10.0.0.0/8", part)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		*l = append(*l, prefix.Masked())
	}
	return nil
}

// onOff is a switch.
type onOff bool

// UnmarshalText accepts on and off.
func (o *onOff) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on", "off":
		*o = string(text) == "on"
		return nil
	}
	return fmt.Errorf("%q must be on or off", text)
}

// originList is a comma-separated list of origins in the serialization that browsers send in the header Origin.
type originList []string

// UnmarshalText parses the list.
func (l *originList) UnmarshalText(text []byte) error {
	*l = nil
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		origin := strings.TrimSpace(part)
		if !isOrigin(origin) {
			return fmt.Errorf("%q is not an origin such as https://shop.example.com: "+
				"use lower case, no path, no default port, and http only for localhost", origin)
		}
		*l = append(*l, origin)
	}
	return nil
}

// isOrigin reports whether s is the origin of a page that was loaded over HTTPS or from localhost, exactly as browsers
// send it.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || s != u.Scheme+"://"+u.Host || s != strings.ToLower(s) {
		return false
	}
	if strings.HasSuffix(u.Host, ":") || strings.Contains(u.Host, "*") {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Port() != "443"
	case "http":
		return u.Hostname() == "localhost" && u.Port() != "80"
	}
	return false
}

// retrySchedule is a comma-separated list of durations.
type retrySchedule app.RetrySchedule

// UnmarshalText parses the schedule.
func (s *retrySchedule) UnmarshalText(text []byte) error {
	schedule, err := app.ParseRetrySchedule(string(text))
	*s = retrySchedule(schedule)
	return err
}
