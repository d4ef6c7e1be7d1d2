package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	processors "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// owner is the part of the system to which a process belongs.
type owner int

const (
	ownerService  owner = iota // the worker, the bare worker or the minimal sender
	ownerSQL                   // PostgreSQL sessions of the service
	ownerClients               // PostgreSQL sessions of the clients and of the emitter
	ownerTemporal              // the Temporal server
	ownerPostgres              // all other processes of PostgreSQL
	ownerBench                 // this process: the clients, the emitter, the receivers and the proxies
	owners
)

// cpu is CPU time in milliseconds.
type cpu struct {
	Service  float64 `json:"service"`
	SQL      float64 `json:"sql"`     // of PostgreSQL for the service
	Clients  float64 `json:"clients"` // of PostgreSQL for the clients and the emitter
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"` // for Temporal, and its background processes

	Bench float64 `json:"bench"` // clients, emitter, receivers and proxies; not part of the cost of deliveries
}

// counted is the explanation of the counted processes in the report.
const counted = "Counted: the worker or the minimal sender, the Temporal server and all PostgreSQL processes, from\n" +
	"the first commit until all of them are idle again; at a steady rate, during the measurement. The events of the\n" +
	"table of workflows are written before. Not counted: the program of clients, receivers and proxies. No API runs."

// sum returns the CPU time of all counted processes.
func (c cpu) sum() float64 { return c.Service + c.SQL + c.Clients + c.Temporal + c.Postgres }

// own returns the CPU time that Comanda adds to that of a worker with bare workflows.
func (c cpu) own(bare cpu) float64 { return c.Service - bare.Service + c.SQL }

// times returns c multiplied by a factor.
func (c cpu) times(factor float64) cpu {
	return cpu{
		Service: factor * c.Service, SQL: factor * c.SQL, Clients: factor * c.Clients,
		Temporal: factor * c.Temporal, Postgres: factor * c.Postgres, Bench: factor * c.Bench,
	}
}

// serviceRoles are the login roles of the service. The titles of PostgreSQL's processes contain them.
var serviceRoles = [...]string{"comanda_login", "comanda_system_login"}

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
	sessions   map[int]owner // owners of PostgreSQL's processes, as far as known
}

// newProcesses finds the processes: the worker or the bare worker, and the infrastructure, which
// holds Temporal and whose child is PostgreSQL's postmaster.
func newProcesses(service, infra int) (processes, error) {
	p := processes{single: map[*process.Process]owner{}, sessions: map[int]owner{}}
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
		whose, err := p.ownerOf(each)
		if err != nil {
			return c, err
		}
		c[int(each.Pid)] = clock{whose, milliseconds(times)}
	}
	ended, err := endedChildren(int(p.postmaster.Pid))
	c[-int(p.postmaster.Pid)] = clock{ownerPostgres, ended}
	return c, err
}

// ownerOf returns the owner of one of PostgreSQL's processes.
func (p processes) ownerOf(one *process.Process) (owner, error) {
	id := int(one.Pid)
	if known, ok := p.sessions[id]; ok {
		return known, nil
	}
	title, _ := one.Cmdline()
	if !strings.HasPrefix(title, "postgres: ") { // it has ended, or it has no title yet
		return ownerPostgres, nil
	}
	whose := ownerPostgres
	isService := func(role string) bool { return strings.HasPrefix(title, "postgres: "+role+" ") }
	if slices.ContainsFunc(serviceRoles[:], isService) {
		ours, err := isOurs(title)
		if err != nil {
			return whose, err
		}
		whose = ownerSQL
		if ours {
			whose = ownerClients
		}
	}
	p.sessions[id] = whose
	return whose, nil
}

// isOurs reports whether the title of a PostgreSQL session names a port of this process, which uses the same login role
// as the service. A title is like "postgres: comanda comanda 127.0.0.1(38472) idle".
func isOurs(title string) (bool, error) {
	_, rest, _ := strings.Cut(title, "(")
	port, _, found := strings.Cut(rest, ")")
	if !found {
		return false, nil
	}
	ours, err := net.ConnectionsPid("tcp", int32(os.Getpid()))
	return slices.ContainsFunc(ours, func(c net.ConnectionStat) bool {
		return strconv.Itoa(int(c.Laddr.Port)) == port
	}), err
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
		Service: spent[ownerService], SQL: spent[ownerSQL], Clients: spent[ownerClients],
		Temporal: spent[ownerTemporal], Postgres: spent[ownerPostgres], Bench: spent[ownerBench],
	}
}
