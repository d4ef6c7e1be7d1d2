package main

import (
	"errors"
	"os"
	"strings"

	processors "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"
)

// owner is the part of the system to which a process belongs.
type owner int

const (
	ownerService  owner = iota // the worker, or the bare worker
	ownerSQL                   // PostgreSQL sessions of the service
	ownerTemporal              // the Temporal server
	ownerPostgres              // all other processes of PostgreSQL
	ownerBench                 // this process: the receivers, the emitter and the proxies
	ownerEmitter               // PostgreSQL session of the emitter
	owners
)

// cpu is CPU time in milliseconds.
type cpu struct {
	Service  float64 `json:"service"`
	SQL      float64 `json:"sql"` // of PostgreSQL for the service
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"` // for Temporal, and its background processes

	// Not part of the cost of deliveries.
	Bench   float64 `json:"bench"`   // receivers, emitter, proxies
	Emitter float64 `json:"emitter"` // of PostgreSQL for the emitter
}

// counted is the explanation of the counted processes in the report.
const counted = "CPU ms each: the worker, its PostgreSQL sessions, the Temporal server and all other PostgreSQL\n" +
	"processes, from the commit of the events until all of them are idle again. Not counted: the receivers,\n" +
	"the emitter and the proxies (bench) and the emitter's PostgreSQL session. No API runs."

// sum returns the CPU time of all counted processes.
func (c cpu) sum() float64 { return c.Service + c.SQL + c.Temporal + c.Postgres }

// own returns the CPU time that Comanda adds to that of a worker with bare workflows.
func (c cpu) own(bare cpu) float64 { return c.Service - bare.Service + c.SQL }

// plus returns the sum of c and another time multiplied by a factor.
func (c cpu) plus(other cpu, factor float64) cpu {
	return cpu{
		Service: c.Service + factor*other.Service, SQL: c.SQL + factor*other.SQL,
		Temporal: c.Temporal + factor*other.Temporal, Postgres: c.Postgres + factor*other.Postgres,
		Bench: c.Bench + factor*other.Bench, Emitter: c.Emitter + factor*other.Emitter,
	}
}

// times returns c multiplied by a factor.
func (c cpu) times(factor float64) cpu { return cpu{}.plus(c, factor) }

// serviceRole is the login role of the service. The titles of PostgreSQL's processes contain it.
const serviceRole = "comanda"

// clocks are the CPU times of processes since their start, by process id.
type clocks map[int]clock

type clock struct {
	owner owner
	ms    float64
}

// processes are the processes whose CPU times are read.
type processes struct {
	single     map[*process.Process]owner
	postmaster *process.Process
	emitter    int           // PostgreSQL's session of the emitter
	sessions   map[int]owner // owners of PostgreSQL's processes, as far as known
}

// newProcesses finds the processes: the worker or the bare worker, and the infrastructure, which
// holds Temporal and whose child is PostgreSQL's postmaster.
func newProcesses(service, infra, emitter int) (processes, error) {
	p := processes{single: map[*process.Process]owner{}, emitter: emitter, sessions: map[int]owner{}}
	for id, whose := range map[int]owner{service: ownerService, infra: ownerTemporal, os.Getpid(): ownerBench} {
		one, err := process.NewProcess(int32(id))
		if err != nil {
			return p, err
		}
		p.single[one] = whose
		if whose != ownerTemporal {
			continue
		}
		children, err := one.Children()
		if err != nil {
			return p, err
		}
		for _, child := range children {
			if name, err := child.Name(); err == nil && strings.HasPrefix(name, "postgres") {
				p.postmaster = child
			}
		}
	}
	if p.postmaster == nil {
		return p, errors.New("the infrastructure has no PostgreSQL process")
	}
	return p, nil
}

// clocks reads the CPU times of all processes. The time of PostgreSQL's ended processes has the negative id of the
// postmaster as its key.
func (p processes) clocks() (clocks, error) {
	c := clocks{}
	for one, whose := range p.single {
		times, err := one.Times()
		if err != nil {
			return c, err
		}
		c[int(one.Pid)] = clock{whose, milliseconds(times)}
	}
	sessions, err := p.postmaster.Children()
	if err != nil {
		return c, err
	}
	for _, each := range append(sessions, p.postmaster) {
		times, err := each.Times()
		if err != nil { // it has ended
			continue
		}
		c[int(each.Pid)] = clock{p.ownerOf(each), milliseconds(times)}
	}
	ended, err := endedChildren(int(p.postmaster.Pid))
	c[-int(p.postmaster.Pid)] = clock{ownerPostgres, ended}
	return c, err
}

// ownerOf returns the owner of one of PostgreSQL's processes.
func (p processes) ownerOf(one *process.Process) owner {
	id := int(one.Pid)
	if known, ok := p.sessions[id]; ok {
		return known
	}
	whose := ownerPostgres
	title, err := one.Cmdline()
	switch {
	case id == p.emitter:
		whose = ownerEmitter
	case err == nil && strings.HasPrefix(title, "postgres: "+serviceRole+" "):
		whose = ownerSQL
	}
	if strings.HasPrefix(title, "postgres: ") { // a new process has no title yet
		p.sessions[id] = whose
	}
	return whose
}

func milliseconds(t *processors.TimesStat) float64 { return 1000 * (t.User + t.System) }

// since returns the CPU time between before and c.
func (c clocks) since(before clocks) cpu {
	var spent [owners]float64
	for id, now := range c {
		spent[now.owner] += now.ms - before[id].ms // 0 for a process that did not run yet
	}
	for id, then := range before {
		if _, runs := c[id]; !runs { // its time is now part of that of the ended processes
			spent[ownerPostgres] -= then.ms
		}
	}
	return cpu{
		Service: spent[ownerService], SQL: spent[ownerSQL], Temporal: spent[ownerTemporal],
		Postgres: spent[ownerPostgres], Bench: spent[ownerBench], Emitter: spent[ownerEmitter],
	}
}
