package main

import (
	"slices"
	"testing"
	"time"
)

// TestMutants checks that the named checker finds each mutant, and that each checker has one.
func TestMutants(t *testing.T) {
	t.Parallel()
	mutants := slices.Concat(deliveryMutants, stateMutants, readerMutants)
	for _, m := range mutants {
		t.Run(m.checker+"/"+m.defect, func(t *testing.T) {
			t.Parallel()
			b := rightBook()
			m.apply(b)
			i := slices.IndexFunc(checkers, func(c checker) bool { return c.name == m.checker })
			if found := checkers[i].check(b.h, b.s); len(found) == 0 {
				t.Error("got no violation")
			}
		})
	}
	for _, c := range checkers {
		if !slices.ContainsFunc(mutants, func(m mutant) bool { return m.checker == c.name }) {
			t.Errorf("%s: no mutant trips it", c.name)
		}
	}
}

// lose removes a delivery.
func (b *book) lose(id string) {
	delete(b.s.Deliveries, id)
	delete(b.s.Steps, id)
}

// last changes a delivery and its last step.
func (b *book) last(id string, change func(*deliveryRow)) {
	steps := b.s.Steps[id]
	change(&steps[len(steps)-1])
	b.s.Deliveries[id] = steps[len(steps)-1]
}

// drop removes steps of a delivery.
func (b *book) drop(id string, which func(deliveryRow) bool) {
	b.s.Steps[id] = slices.DeleteFunc(b.s.Steps[id], which)
}

// swap exchanges the times of the first starts of two deliveries.
func (b *book) swap(one, other string) {
	b.s.Steps[one][1].Number, b.s.Steps[other][1].Number = b.s.Steps[other][1].Number, b.s.Steps[one][1].Number
}

// later makes a request an hour later.
func (b *book) later(id string) {
	b.h.End = noon.Add(time.Hour)
	b.post(id, 204)
	b.h.Requests[len(b.h.Requests)-1].At = noon.Add(time.Hour)
}

// of returns the places of the requests of a delivery.
func (b *book) of(id string) (places []int) {
	for i, r := range b.h.Requests {
		if d := b.s.Deliveries[id]; r.Event == d.Event && r.Webhook == d.Webhook {
			places = append(places, i)
		}
	}
	return places
}

// order changes an order.
func (b *book) order(id string, change func(*orderRow)) {
	o := b.s.Orders[id]
	change(&o)
	b.s.Orders[id] = o
}

// intrude moves a request of a delivery between those of another one of its resource.
func (b *book) intrude() {
	own, other := b.of("e-paid/w1")[0], b.of("e-o1/w1")[0]
	b.h.Requests[own].At = b.h.Requests[other].At.Add(time.Microsecond)
	b.h.Requests[own].Answered = b.h.Requests[own].At
}
