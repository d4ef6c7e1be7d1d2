package api

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/app"
)

const (
	// backlogAge is the time for which the result of the query is cached, so that concurrent scrapes cost one
	// query.
	backlogAge = 10 * time.Second
	// backlogTimeout limits the query.
	backlogTimeout = 3 * time.Second
)

// heldBack is the label of the deliveries that wait for the turn of their resource.
const heldBack = "held_back"

// Backlog is a Prometheus collector of waiting deliveries, events and jobs. It caches them for ten seconds.
// While they cannot be read, it sends only comanda_backlog_readable, with the value 0.
type Backlog struct {
	read func(ctx context.Context, now time.Time) (app.Backlog, error)
	now  func() time.Time

	readable, waiting, deadLetters, age, jobs *prometheus.Desc

	mu     sync.Mutex
	readAt time.Time
	last   app.Backlog
	err    error
}

// NewBacklog returns a collector of the result of read.
func NewBacklog(read func(context.Context, time.Time) (app.Backlog, error), now func() time.Time) *Backlog {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Backlog{
		read: read, now: now,
		readable: desc("comanda_backlog_readable",
			"Whether the backlog could be read (1 or 0). If not, the other backlog metrics are missing."),
		waiting: desc("comanda_deliveries_waiting",
			"Deliveries of all stores that have not ended, by state; 100000 means 100000 or more.", "state"),
		deadLetters: desc("comanda_dead_letters",
			"Dead letters of all stores; 100000 means 100000 or more."),
		age: desc("comanda_queue_age_seconds",
			"Age of the oldest event not dispatched, due delivery not started, and held-back delivery; 0 = none.",
			"queue"),
		jobs: desc("comanda_jobs_waiting",
			"Jobs of all stores whose workflows are not started; 100000 means 100000 or more."),
	}
}

// Describe sends the descriptions of all metrics.
func (b *Backlog) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{b.readable, b.waiting, b.deadLetters, b.age, b.jobs} {
		descs <- desc
	}
}

// Collect sends the metrics.
func (b *Backlog) Collect(metrics chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := b.now()
	backlog, err := b.current(now)
	if err != nil {
		gauge(b.readable, 0)
		return
	}
	gauge(b.readable, 1)
	gauge(b.waiting, float64(backlog.Queued), string(app.DeliveryQueued))
	gauge(b.waiting, float64(backlog.Held), heldBack)
	gauge(b.waiting, float64(backlog.Pending), string(app.DeliveryPending))
	gauge(b.waiting, float64(backlog.Retrying), string(app.DeliveryRetrying))
	gauge(b.deadLetters, float64(backlog.DeadLetters))
	gauge(b.age, age(now, backlog.OldestEvent), "events")
	gauge(b.age, age(now, backlog.OldestDue), "deliveries")
	gauge(b.age, age(now, backlog.OldestHeld), heldBack)
	gauge(b.jobs, float64(backlog.Jobs))
}

// current returns the cached result, or reads it again. It caches errors too, so that a failing database is
// not queried more often.
func (b *Backlog) current(now time.Time) (app.Backlog, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.readAt.IsZero() || now.Sub(b.readAt) >= backlogAge {
		ctx, cancel := context.WithTimeout(context.Background(), backlogTimeout)
		defer cancel()
		b.last, b.err = b.read(ctx, now)
		b.readAt = now
	}
	return b.last, b.err
}

// age returns the seconds since a time, 0 if it is nil or in the future.
func age(now time.Time, since *time.Time) float64 {
	if since == nil {
		return 0
	}
	return max(0, now.Sub(*since).Seconds())
}
