package delivery

import (
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

// Limits of compiled filters. One takes about 10 KB. A website can displace only its own, until there are too many of
// all websites.
const (
	maxProgramsOfQueue = 2 * app.MaxSubscriptions
	maxPrograms        = 10_000
)

// program is the compiled filter of a version of a subscription.
type program struct {
	version  int64
	filter   *filter.Filter // nil if it does not compile
	reported time.Time      // when its last error was stored; guarded by filters.mu
}

// programs are compiled filters by queue and subscription.
type programs struct {
	mu    sync.Mutex
	of    map[string]map[app.SubscriptionID]*program
	count int
}

// program returns the compiled filter of a subscription.
func (f *filters) program(queue string, of decision, expression string) *program {
	if found := f.programs.get(queue, of.Subscription); found != nil && found.version == of.Version {
		return found
	}
	made := &program{version: of.Version}
	if one, err := filter.Compile(expression); err == nil { // otherwise it was written without the API
		made.filter = one
	}
	f.programs.put(queue, of.Subscription, made)
	return made
}

func (p *programs) get(queue string, id app.SubscriptionID) *program {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[queue][id]
}

func (p *programs) put(queue string, id app.SubscriptionID, made *program) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]map[app.SubscriptionID]*program{}
	}
	if p.of[queue] == nil {
		p.of[queue] = map[app.SubscriptionID]*program{}
	}
	if _, replaced := p.of[queue][id]; !replaced {
		if len(p.of[queue]) >= maxProgramsOfQueue {
			p.removeOne(queue)
		}
		p.count++
	}
	p.of[queue][id] = made
	for other := range p.of { // in random order
		if p.count <= maxPrograms {
			break
		}
		if other != queue {
			p.count -= len(p.of[other])
			delete(p.of, other)
		}
	}
}

// removeOne removes any program of a queue.
func (p *programs) removeOne(queue string) {
	for id := range p.of[queue] {
		delete(p.of[queue], id)
		p.count--
		return
	}
}
