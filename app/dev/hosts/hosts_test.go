package main

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "run all faults: minutes instead of seconds")

// TestHosts runs all faults on this machine. No event is lost, and nothing remains of the network.
func TestHosts(t *testing.T) {
	if !*long {
		t.Skip("takes minutes and changes network namespaces: -long")
	}
	if reason := missing(t.Context()); reason != "" {
		t.Skip(reason)
	}
	o := options{rate: 3, lasts: 10 * time.Second, timeout: 10 * time.Minute}
	if err := test(t.Context(), o, t.Output()); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir("/var/run/netns")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), newNetwork().prefix) {
			t.Errorf("namespace %s remains, want none", entry.Name())
		}
	}
}

// TestLoss checks the commands that drop packets, because each kernel runs only one kind.
func TestLoss(t *testing.T) {
	t.Parallel()
	n := &network{prefix: "test-"}
	want := "-n test-net qdisc replace dev port-a root netem delay 2ms loss 30%"
	if got := strings.Join(n.netemLoss(hostA, 30), " "); got != want {
		t.Errorf("netem: got %s, want %s", got, want)
	}
	command := n.queueLoss(hostA, 50)
	program := "4,32 0 0 4294963256,53 1 0 2147483647,6 0 0 4294967295,6 0 0 0"
	if got := command[len(command)-3]; got != program {
		t.Errorf("queue: got the program %s, want %s", got, program)
	}
}
