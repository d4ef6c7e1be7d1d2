package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// keyHealthyRate is the rate of the deliveries to receivers that do not fail.
const keyHealthyRate = "healthyPerSecond"

// warmUpShare is the share of a run's deliveries that warm up the programs, as a divisor.
const warmUpShare = 5

// load is a saturated run: all events are committed together, and the worker delivers them as fast
// as it can.
type load struct {
	strict  bool          // bursts are off
	fanOut  int           // webhooks of each event; 0 = 1
	failing bool          // one of ten receivers responds with 503 to every attempt
	delay   time.Duration // in each direction between the worker and Temporal
}

// run measures from the commit to the last delivery's first attempt, and CPU time until the
// processes are idle. The retries of failing deliveries come long after the run.
func (l load) run(ctx context.Context, b *bench, p program) (sample, error) {
	l.fanOut = max(l.fanOut, 1)
	respond := all(accept)
	if l.failing {
		respond = func(i int) func(int) int {
			if i%10 == 0 {
				return refuse
			}
			return accept
		}
	}
	s, err := b.spread(ctx, l.fanOut, respond)
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	settings := map[string]string{"COMANDA_RETRY_SCHEDULE": "24h"}
	if b.profile != "" {
		settings["COMANDA_PPROF"] = "on"
	}
	if l.delay > 0 {
		proxy, err := harness.NewDelayedProxy(b.infra.Ready.TemporalAddress, l.delay)
		if err != nil {
			return sample{}, err
		}
		defer proxy.Close()
		settings["TEMPORAL_ADDRESS"] = proxy.Address
	}
	worker, err := b.startWorker(ctx, p, l.strict, settings)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	result, err := s.saturate(ctx, worker, newEvents(s.tenants, b.deliveries(l.strict)/l.fanOut))
	if err != nil {
		return sample{}, err
	}
	return result, stopWorker(ctx, worker)
}

// saturate delivers events at full speed.
func (s *stage) saturate(ctx context.Context, worker *harness.Process, events []event) (result sample, err error) {
	p, err := s.warmUp(ctx, worker, max(len(events)/warmUpShare, len(s.tenants)))
	if err != nil {
		return result, err
	}
	profiled := make(chan error, 1)
	go func() { profiled <- profileTo(ctx, worker, s.b.profile) }()
	var before clocks
	began, err := s.b.emitter.commit(ctx, events, func() (err error) {
		before, err = p.clocks()
		return err
	})
	if err != nil {
		return result, err
	}
	deliveries := deliveriesOf(events)
	last, err := s.arrivals.await(ctx, worker, deliveries)
	if err != nil {
		return result, err
	}
	after, err := settle(ctx, p)
	if err != nil {
		return result, err
	}
	each := after.since(before).times(1 / float64(deliveries))
	healthy, lastHealthy := s.healthy(events)
	return sample{cpu: &each, values: map[string]float64{
		keyRate: float64(deliveries) / last.Sub(began).Seconds(), keyCPU: each.sum(),
		keyDoubled: float64(s.arrivals.beyond(1)), keyHealthyRate: float64(healthy) / lastHealthy.Sub(began).Seconds(),
	}}, <-profiled
}

// healthy counts the deliveries of tenants whose first receiver does not fail, and returns when the
// last of them arrived.
func (s *stage) healthy(events []event) (n int, last time.Time) {
	fails := map[*tenant]bool{}
	for i, t := range s.tenants {
		fails[t] = s.receivers[i].respond(1) != http.StatusNoContent
	}
	for _, e := range events {
		if fails[e.to] {
			continue
		}
		for _, w := range e.to.webhooks {
			n++
			if at := s.arrivals.of(delivery{e.subject, w.number})[0]; at.After(last) {
				last = at
			}
		}
	}
	return n, last
}

// profileTo writes a CPU profile of the next seconds of a process to a file, unless the file name is empty.
func profileTo(ctx context.Context, process *harness.Process, file string) error {
	if file == "" {
		return nil
	}
	url := process.Admin + "/debug/pprof/profile?seconds=10"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile the worker: %s", response.Status)
	}
	profile, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, profile, 0o644)
}
