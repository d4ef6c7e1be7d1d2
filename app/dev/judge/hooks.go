package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// hooked is a webhook with its receivers: the one of its creation, and those to which it was moved.
type hooked struct {
	id        string
	receivers []*receiver
}

// hangs reports whether the present receiver of the webhook hangs. The lock of the site must be held.
func (h *hooked) hangs() bool { return h.receivers[len(h.receivers)-1].behavior == hangs }

// webhooksAtBegin returns the number of webhooks that a site is set up with.
func (s *site) webhooksAtBegin() int {
	switch s.name {
	case chain:
		if s.all.h.Lasts < manyFrom {
			return 20
		}
		return 100
	case starter, restless:
		return 5
	case sandbox:
		return 2
	}
	return 1
}

// subscribe creates webhook n at the start. The first one, and the second one of a site that renews its webhooks,
// receive all events in order. The receiver of the first one responds. That of the second one hangs, so that events of
// an order wait for dead letters and replays of earlier ones.
func (s *site) subscribe(ctx context.Context, n int) error {
	random := rand.New(rand.NewPCG(s.all.h.Seed, uint64(n))) //nolint:gosec // repeatable
	in, r := s.newWebhook(random)
	renewed := n == 1 && slices.Contains(unsettled, s.name)
	if n == 0 || renewed {
		in.Filter, in.Ordering = nil, new(comanda.WebhookOrderingResource)
		in.Events = []comanda.SubscribableEventType{comanda.SubscribableEventTypeAll}
	}
	switch {
	case n == 0:
		r.behavior = responds
	case renewed:
		r.behavior = hangs
	}
	created, err := s.key.CreateWebhook(ctx, in)
	if err != nil {
		return err
	}
	s.hook(created.ID, r)
	return nil
}

// hook adds a webhook that was created.
func (s *site) hook(id string, r *receiver) {
	r.named(id)
	s.lock.Lock()
	defer s.lock.Unlock()
	s.webhooks = append(s.webhooks, &hooked{id, []*receiver{r}})
}

// forget removes a webhook that was deleted.
func (s *site) forget(id string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.webhooks = slices.DeleteFunc(s.webhooks, func(h *hooked) bool { return h.id == id })
}

// newReceiver adds a receiver with a random behavior for a webhook with secrets.
func (s *site) newReceiver(random *rand.Rand, secrets ...string) *receiver {
	s.lock.Lock()
	s.names++
	name := fmt.Sprintf("w%d", s.names)
	s.lock.Unlock()
	return s.all.receivers.add(s.name, name, behaviors[random.IntN(len(behaviors))], secrets...)
}

// resolve names the webhooks of requests to receivers whose webhook was created without a known response. It needs all
// requests, and reads the database.
func (s *sites) resolve(ctx context.Context) error {
	rows, err := s.w.SystemDB().System().DB.QueryContext(ctx, "SELECT id, url FROM subscriptions")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, url string
		if err := rows.Scan(&id, &url); err != nil {
			return err
		}
		if r := s.receivers.receiver(url[min(len(url), len(s.receivers.server.URL)):]); r != nil {
			r.named(id)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	s.h.lock.Lock()
	defer s.h.lock.Unlock()
	for i, q := range s.h.Requests {
		if r := s.receivers.receiver(q.Receiver); q.Webhook == "" && r != nil {
			s.h.Requests[i].Webhook = r.id()
		}
	}
	return nil
}
