package api

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/app"
)

const (
	// backlogAge is how old numbers may be that a scrape gets: several that scrape at once
	// cost the database one query.
	backlogAge = 10 * time.Second
	// backlogTimeout bounds that query.
	backlogTimeout = 3 * time.Second
)

// Backlog is a collector of what waits, read when Prometheus asks and kept for ten seconds.
// While it cannot be read there are no numbers, and comanda_backlog_readable is 0.
type Backlog struct {
	read func(ctx context.Context, now time.Time) (app.Backlog, error)
	now  func() time.Time

	readable, waiting, deadLetters, age, jobs *prometheus.Desc

	mu     sync.Mutex
	readAt time.Time
	last   app.Backlog
	err    error
}

// NewBacklog makes a collector of what read returns.
func NewBacklog(read func(context.Context, time.Time) (app.Backlog, error), now func() time.Time) *Backlog {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &Backlog{
		read: read, now: now,
		readable:    desc("comanda_backlog_readable", "Whether what waits could be read from the database; without it the other numbers of it are missing."),
		waiting:     desc("comanda_deliveries_waiting", "Deliveries of the whole installation that have not ended, by state; 100000 means that or more.", "state"),
		deadLetters: desc("comanda_dead_letters", "Deliveries of the whole installation that are dead letters; 100000 means that or more."),
		age:         desc("comanda_queue_age_seconds", "For how long the oldest event has not been seen by a relay, and the oldest delivery that is due not been started; 0 = none waits.", "queue"),
		jobs:        desc("comanda_jobs_waiting", "Jobs of the whole installation whose workflows have not been started; 100000 means that or more."),
	}
}

// Describe sends what Collect may send.
func (b *Backlog) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{b.readable, b.waiting, b.deadLetters, b.age, b.jobs} {
		descs <- desc
	}
}

// Collect sends the numbers.
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
	gauge(b.waiting, float64(backlog.Pending), string(app.DeliveryPending))
	gauge(b.waiting, float64(backlog.Retrying), string(app.DeliveryRetrying))
	gauge(b.deadLetters, float64(backlog.DeadLetters))
	gauge(b.age, age(now, backlog.OldestEvent), "events")
	gauge(b.age, age(now, backlog.OldestDue), "deliveries")
	gauge(b.jobs, float64(backlog.Jobs))
}

// current returns what was read last, or reads it anew. An error is kept as well: a database
// that is in trouble is not asked more often.
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

// age returns the seconds since an instant, 0 if there is none or it is yet to come.
func age(now time.Time, since *time.Time) float64 {
	if since == nil {
		return 0
	}
	return max(0, now.Sub(*since).Seconds())
}
