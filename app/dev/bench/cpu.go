package main

import (
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// cpu is processor time in milliseconds, by whom it was spent.
type cpu struct {
	Service  float64 `json:"service"`
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"`
}

func (c cpu) sum() float64 { return c.Service + c.Temporal + c.Postgres }

// since returns what was spent between before and c, for each of n.
func (c cpu) since(before cpu, n int) cpu {
	each := func(now, then float64) float64 { return (now - then) / float64(n) }
	return cpu{each(c.Service, before.Service), each(c.Temporal, before.Temporal), each(c.Postgres, before.Postgres)}
}

// spent reads the processor time of a service's process, of the infrastructure's process,
// which holds Temporal, and of PostgreSQL's processes below it.
func spent(service, infra int) (cpu, error) {
	var c cpu
	var err error
	if c.Service, err = timeOf(service); err != nil {
		return c, err
	}
	if c.Temporal, err = timeOf(infra); err != nil {
		return c, err
	}
	parent, err := process.NewProcess(int32(infra))
	if err != nil {
		return c, err
	}
	children, err := parent.Children()
	if err != nil {
		return c, err
	}
	for _, postmaster := range children {
		if name, err := postmaster.Name(); err != nil || !strings.HasPrefix(name, "postgres") {
			continue
		}
		own, err := timeOf(int(postmaster.Pid))
		if err != nil {
			return c, err
		}
		c.Postgres += own
		backends, err := postmaster.Children()
		if err != nil {
			return c, err
		}
		for _, backend := range backends {
			if t, err := timeOf(int(backend.Pid)); err == nil { // it may have ended
				c.Postgres += t
			}
		}
	}
	return c, nil
}

func timeOf(pid int) (float64, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	times, err := p.Times()
	if err != nil {
		return 0, err
	}
	return 1000 * (times.User + times.System), nil
}
