package main

import (
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// cpu is processor time in milliseconds, by whom it was spent.
type cpu struct {
	Service  float64 `json:"service"`
	SQL      float64 `json:"sql"` // of PostgreSQL for the service
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"` // for Temporal, and what it does by itself
}

func (c cpu) sum() float64 { return c.Service + c.SQL + c.Temporal + c.Postgres }

// own is what is spent on Comanda's part of the work, where a worker without it spends bare.
func (c cpu) own(bare cpu) float64 { return c.Service - bare.Service + c.SQL }

// serviceRole is the role that the service logs in with: PostgreSQL's processes have it in
// their titles.
const serviceRole = "comanda"

// clocks are the processor times that processes have used up, in milliseconds, by their ids.
type clocks struct{ service, sql, temporal, postgres map[int]float64 }

// spent reads the clocks of a service's process, of the infrastructure's process, which
// holds Temporal, and of PostgreSQL's processes below it.
func spent(service, infra int) (clocks, error) {
	c := clocks{map[int]float64{}, map[int]float64{}, map[int]float64{}, map[int]float64{}}
	var err error
	if c.service[service], err = timeOf(service); err != nil {
		return c, err
	}
	if c.temporal[infra], err = timeOf(infra); err != nil {
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
		backends, err := postmaster.Children()
		if err != nil {
			return c, err
		}
		for _, each := range append(backends, postmaster) {
			title, err := each.Cmdline()
			if err != nil { // it has ended
				continue
			}
			whose := c.postgres
			if strings.HasPrefix(title, "postgres: "+serviceRole+" ") {
				whose = c.sql
			}
			if t, err := timeOf(int(each.Pid)); err == nil {
				whose[int(each.Pid)] = t
			}
		}
	}
	return c, nil
}

// since returns what was spent between before and c, for each of n. What a process spent
// that has ended meanwhile is missing.
func (c clocks) since(before clocks, n int) cpu {
	each := func(now, then map[int]float64) (sum float64) {
		for id, t := range now {
			sum += t - then[id] // 0 for one that did not run yet
		}
		return sum / float64(n)
	}
	return cpu{each(c.service, before.service), each(c.sql, before.sql), each(c.temporal, before.temporal), each(c.postgres, before.postgres)}
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
