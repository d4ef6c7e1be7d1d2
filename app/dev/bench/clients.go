package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	// clientConnections is the number of clients, each with a PostgreSQL session.
	clientConnections = 24
	// descriptionSize makes the body of a product's event 1 KiB long.
	descriptionSize = 483
)

// create commits an event of a tenant as a client does: with the store operation of POST /products, which inserts a
// product and its event in one transaction. It is the smallest operation that writes a row and an event.
func (b *bench) create(ctx context.Context, t *tenant) (sent, error) {
	created, err := b.db.CreateProduct(ctx, time.Now(), t.store, app.Product{
		Name: "Pizza", Description: strings.Repeat(".", descriptionSize), PriceMinor: 950, Currency: "EUR",
		IsAvailable: true,
	}, nil)
	return sent{string(created.ID), t, time.Now()}, err
}

// clients starts clients that commit events of the tenants in turn, at a steady rate in total.
func (s *stage) clients(ctx context.Context, rate float64, of []*tenant) *stream {
	interval := float64(time.Second) / rate
	return s.startClients(ctx, of, rate, func(i int) (due time.Duration, ok bool) {
		return time.Duration(float64(i+1) * interval), true
	})
}

// commitEach lets clients commit n events of the tenants in turn, as fast as they can.
func (s *stage) commitEach(ctx context.Context, of []*tenant, n int) ([]sent, error) {
	all := s.startClients(ctx, of, 0, func(i int) (due time.Duration, ok bool) { return 0, i < n })
	defer all.cancel()
	all.stopped.Wait()
	if all.err == nil && len(all.events) < n {
		return all.events, ctx.Err()
	}
	return all.events, all.err
}

// startClients starts clients. next returns the time of the i-th commit after the start, and false after the last one.
func (s *stage) startClients(
	ctx context.Context, of []*tenant, rate float64, next func(i int) (due time.Duration, ok bool),
) *stream {
	running, cancel := context.WithCancel(ctx)
	all := &stream{cancel: cancel, rate: rate, began: time.Now()}
	var begun atomic.Int64
	var lock sync.Mutex
	commit := func() bool {
		i := int(begun.Add(1)) - 1
		due, ok := next(i)
		if !ok || pause(running, time.Until(all.began.Add(due))) != nil {
			return false
		}
		one, err := s.b.create(context.WithoutCancel(ctx), of[i%len(of)])
		lock.Lock()
		defer lock.Unlock()
		if err != nil {
			all.err = fmt.Errorf("commit an event: %w", err)
			cancel()
			return false
		}
		all.events = append(all.events, one)
		return true
	}
	for range clientConnections {
		all.stopped.Go(func() {
			for running.Err() == nil && commit() {
			}
		})
	}
	return all
}
