package main

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// heavyLoss is the share of lost packets of the fault, in percent.
	heavyLoss = 30
	// slowDelay is the delay of a slow database in each direction.
	slowDelay = 50 * time.Millisecond
)

// fault is a disturbance of an installation. run returns when the installation is whole again.
type fault struct {
	name   string
	strict bool // no request may fail, and no event may arrive twice
	run    func(ctx context.Context, i *installation, lasts time.Duration) error
}

// faults are the disturbances in the order of the table.
var faults = []fault{
	{"host a cannot reach the data host", false, partition},
	{"host a receives 70 % of its packets", false, oneWayLoss},
	{"PostgreSQL responds 100 ms later", false, slowDatabase},
	{"host b gone, started again", false, hostGone},
	{"rolling restart of both hosts", true, rollingRestart},
}

func partition(ctx context.Context, i *installation, lasts time.Duration) error {
	if err := i.network.cut(ctx, hostA, true); err != nil {
		return err
	}
	if err := wait(ctx, lasts); err != nil {
		return err
	}
	return i.network.cut(ctx, hostA, false)
}

func oneWayLoss(ctx context.Context, i *installation, lasts time.Duration) error {
	if err := i.network.lose(ctx, hostA, heavyLoss); err != nil {
		return err
	}
	if err := wait(ctx, lasts); err != nil {
		return err
	}
	return i.network.lose(ctx, hostA, linkLoss)
}

func slowDatabase(ctx context.Context, i *installation, lasts time.Duration) error {
	i.postgres.SetDelay(slowDelay)
	defer i.postgres.SetDelay(i.proxyDelay())
	return wait(ctx, lasts)
}

// hostGone takes the link down first, so that no peer sees its connections close.
func hostGone(ctx context.Context, i *installation, lasts time.Duration) error {
	if err := i.network.unplug(ctx, hostB, true); err != nil {
		return err
	}
	i.kill(hostB)
	if err := wait(ctx, lasts); err != nil {
		return err
	}
	if err := i.network.unplug(ctx, hostB, false); err != nil {
		return err
	}
	return i.startHost(ctx, hostB)
}

func rollingRestart(ctx context.Context, i *installation, _ time.Duration) error {
	for _, name := range []string{hostA, hostB} {
		for _, process := range []*harness.Process{i.hosts[name].api, i.hosts[name].worker} {
			if err := stopGracefully(ctx, process); err != nil {
				return err
			}
			if err := i.startHost(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopGracefully stops a process with SIGTERM.
func stopGracefully(ctx context.Context, p *harness.Process) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	return p.Stop(ctx)
}

// wait waits for some time. It returns an error if ctx is done before.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
