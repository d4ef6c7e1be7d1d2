package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Hosts of the network. Each is a network namespace.
const (
	outside = "net" // clients, the load balancer and the receiver; its bridge joins the hosts
	data    = "data"
	hostA   = "a"
	hostB   = "b"
)

// addresses are the addresses of the hosts. They exist only inside the namespaces.
var addresses = map[string]string{outside: "10.77.0.1", hostA: "10.77.0.2", hostB: "10.77.0.3", data: "10.77.0.4"}

// Properties of the links.
const (
	// linkDelay is the delay in each direction between the data host and the other hosts.
	linkDelay = 2 * time.Millisecond
	// linkLoss is the share of packets that every link loses in the direction of the host, in percent.
	linkLoss = 0.1
	// removeTime limits the removal of the network.
	removeTime = 30 * time.Second
)

// network is a number of network namespaces that a bridge joins. Nothing of it is in the namespace of this process.
type network struct {
	prefix string // of the names of the namespaces
	netem  bool   // the kernel can delay packets
	names  []string
}

// namespace returns the name of the namespace of a host.
func (n *network) namespace(host string) string { return n.prefix + host }

// missing returns the reason for which this machine cannot build a network, or "".
func missing(ctx context.Context) string {
	if runtime.GOOS != "linux" {
		return "network namespaces need Linux"
	}
	if os.Geteuid() != 0 {
		return "network namespaces need root"
	}
	for _, program := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(program); err != nil {
			return "the program " + program + " is missing: install iproute2"
		}
	}
	n := newNetwork()
	err := n.build(ctx)
	if err := errors.Join(err, n.remove()); err != nil && ctx.Err() == nil {
		return "this machine does not allow network namespaces: " + err.Error()
	}
	return ""
}

// newNetwork returns a network that is not built yet. Its names contain the id of this process.
func newNetwork() *network { return &network{prefix: fmt.Sprintf("comanda-%d-", os.Getpid())} }

// build creates the namespaces, their bridge and their links. remove must be called also after an error.
func (n *network) build(ctx context.Context) error {
	if err := n.create(ctx, outside); err != nil {
		return err
	}
	bridge := [][]string{
		{"link", "add", "br0", "type", "bridge"},
		{"addr", "add", addresses[outside] + "/24", "dev", "br0"},
		{"link", "set", "dev", "br0", "up"},
	}
	if err := n.ip(ctx, outside, bridge...); err != nil {
		return err
	}
	for _, host := range []string{hostA, hostB, data} {
		if err := n.join(ctx, host); err != nil {
			return err
		}
	}
	n.netem = run(ctx, "tc", n.netemLoss(hostA, 0)...) == nil
	for _, host := range []string{hostA, hostB, data} {
		if !n.netem {
			for _, args := range n.queues(host) {
				if err := run(ctx, "tc", args...); err != nil {
					return err
				}
			}
		}
		if err := n.lose(ctx, host, linkLoss); err != nil {
			return err
		}
	}
	return nil
}

// create creates the namespace of a host, in which only the loopback interface exists.
func (n *network) create(ctx context.Context, host string) error {
	if err := run(ctx, "ip", "netns", "add", n.namespace(host)); err != nil {
		return err
	}
	n.names = append(n.names, n.namespace(host))
	return n.ip(ctx, host, []string{"link", "set", "dev", "lo", "up"})
}

// join creates the namespace of a host and its link to the bridge.
func (n *network) join(ctx context.Context, host string) error {
	if err := n.create(ctx, host); err != nil {
		return err
	}
	link := []string{"link", "add", "eth0", "type", "veth", "peer", "name", port(host), "netns", n.namespace(outside)}
	if err := n.ip(ctx, host, link, []string{"addr", "add", addresses[host] + "/24", "dev", "eth0"},
		[]string{"link", "set", "dev", "eth0", "up"}); err != nil {
		return err
	}
	return n.ip(ctx, outside, []string{"link", "set", "dev", port(host), "master", "br0", "up"})
}

// port returns the name of the bridge's port of a host.
func port(host string) string { return "port-" + host }

// cut drops all packets between a host and the data host, or forwards them again. Isolated ports of a bridge reach only
// ports that are not isolated.
func (n *network) cut(ctx context.Context, host string, cut bool) error {
	state := map[bool]string{true: "on", false: "off"}[cut]
	return n.ip(ctx, outside,
		[]string{"link", "set", "dev", port(host), "type", "bridge_slave", "isolated", state},
		[]string{"link", "set", "dev", port(data), "type", "bridge_slave", "isolated", state})
}

// unplug takes the link of a host down, or up again.
func (n *network) unplug(ctx context.Context, host string, down bool) error {
	state := map[bool]string{true: "down", false: "up"}[down]
	return n.ip(ctx, outside, []string{"link", "set", "dev", port(host), state})
}

// lose drops a share of the packets to a host, in percent. Packets in the other direction are not affected.
func (n *network) lose(ctx context.Context, host string, percent float64) error {
	if n.netem {
		return run(ctx, "tc", n.netemLoss(host, percent)...)
	}
	return run(ctx, "tc", n.queueLoss(host, percent)...)
}

// netemLoss returns the arguments of tc for a loss with netem, which also delays the packets.
func (n *network) netemLoss(host string, percent float64) []string {
	return n.tc("qdisc replace dev %s root netem delay %s loss %g%%", port(host), linkDelay, percent)
}

// queues returns the arguments of tc for the queues of a host on a kernel without netem. The second queue has no room.
func (n *network) queues(host string) [][]string {
	return [][]string{
		n.tc("qdisc add dev %s root handle 1: htb default 10 r2q 100000", port(host)),
		n.tc("class add dev %s parent 1: classid 1:10 htb rate 10gbit", port(host)),
		n.tc("class add dev %s parent 1: classid 1:20 htb rate 10gbit", port(host)),
		n.tc("qdisc add dev %s parent 1:20 handle 20: bfifo limit 1", port(host)),
	}
}

// queueLoss returns the arguments of tc for a loss with queues: a filter assigns packets at random to the queue that
// has no room.
func (n *network) queueLoss(host string, percent float64) []string {
	// The program of the filter: load a random number; if it is below the threshold, match.
	const random = 1<<32 - 1<<12 + 56 // SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h
	threshold := int64(percent / 100 * (1<<32 - 1))
	program := fmt.Sprintf("4,32 0 0 %d,53 1 0 %d,6 0 0 %d,6 0 0 0", int64(random), threshold, int64(1<<32-1))
	return append(n.tc("filter replace dev %s parent 1: protocol all prio 1 handle 1 bpf bytecode", port(host)),
		program, "flowid", "1:20")
}

// tc returns the arguments of tc for a command in the namespace of the bridge.
func (n *network) tc(format string, args ...any) []string {
	return strings.Fields(fmt.Sprintf("-n %s "+format, append([]any{n.namespace(outside)}, args...)...))
}

// ip runs commands of ip in the namespace of a host.
func (n *network) ip(ctx context.Context, host string, commands ...[]string) error {
	for _, command := range commands {
		if err := run(ctx, "ip", append([]string{"-n", n.namespace(host)}, command...)...); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the namespaces, and with them the links and the bridge. It can be repeated.
func (n *network) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeTime)
	defer cancel()
	var errs []error
	for _, name := range n.names {
		errs = append(errs, run(ctx, "ip", "netns", "del", name))
	}
	n.names = nil
	return errors.Join(errs...)
}

// dial connects from the namespace of a host. The address must contain an IP address.
func (n *network) dial(ctx context.Context, host, address string) (conn net.Conn, err error) {
	err = errors.Join(within(n.namespace(host), func() error {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		return nil
	}), err)
	return conn, err
}

// listen listens in the namespace of a host on its address.
func (n *network) listen(ctx context.Context, host string, number int) (listener net.Listener, err error) {
	err = within(n.namespace(host), func() error {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", on(host, number))
		return err
	})
	return listener, err
}

// on returns the address of a port of a host.
func on(host string, number int) string {
	return net.JoinHostPort(addresses[host], strconv.Itoa(number))
}

// run runs a program. The error contains its output.
func run(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
