package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// stage is the tenants, webhooks and receivers of one run.
type stage struct {
	b           *bench
	certificate tls.Certificate
	arrivals    *arrivals
	receivers   []*receiver
	tenants     []*tenant
	webhooks    int // created so far
	settings    settings
}

// settings are those of all webhooks of a stage.
type settings struct {
	fanOut   int    // webhooks of each event
	filter   string // "" = none
	ordering app.Ordering
}

// tenant is a website with one store and webhooks.
type tenant struct {
	store    app.StoreID
	webhooks []webhook
}

// webhookSecret is the secret of all webhooks.
const webhookSecret = "a secret of the bench, 32 bytes or more"

type webhook struct {
	id     app.SubscriptionID
	number int
}

func (b *bench) newStage() (*stage, error) {
	env := b.infra.Ready.Env
	certificate, err := tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"])
	return &stage{b: b, certificate: certificate, arrivals: newArrivals(b.screen.tick)}, err
}

// spread returns a stage of -stores tenants with one receiver each. A tenant has fanOut webhooks, each at a different
// receiver if there are enough.
func (b *bench) spread(ctx context.Context, fanOut int, respond func(i int) func(nth int) int) (*stage, error) {
	return b.spreadWith(ctx, settings{fanOut: fanOut}, respond)
}

// spreadWith is spread with settings of the webhooks.
func (b *bench) spreadWith(ctx context.Context, with settings, respond func(i int) func(nth int) int) (*stage, error) {
	s, err := b.newStage()
	if err != nil {
		return nil, err
	}
	s.settings = with
	for i := range b.stores {
		if _, err := s.newReceiver(respond(i)); err != nil {
			s.close()
			return nil, err
		}
	}
	for i := range b.stores {
		var at []*receiver
		for j := range with.fanOut {
			at = append(at, s.receivers[(i+j)%len(s.receivers)])
		}
		if _, err := s.newTenant(ctx, at...); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// all gives all receivers of a stage the same behaviour.
func all(respond func(nth int) int) func(int) func(nth int) int {
	return func(int) func(nth int) int { return respond }
}

func (s *stage) close() {
	for _, r := range s.receivers {
		r.close()
	}
}

func (s *stage) newReceiver(respond func(nth int) int) (*receiver, error) {
	r, err := newReceiver(s.certificate, s.arrivals, respond)
	if err == nil {
		s.receivers = append(s.receivers, r)
	}
	return r, err
}

// newTenant creates a website with a webhook at each of the receivers.
func (s *stage) newTenant(ctx context.Context, at ...*receiver) (*tenant, error) {
	s.b.websites++
	now, domain, db := time.Now(), fmt.Sprintf("bench-%d.example", s.b.websites), s.b.db
	_, stores, err := db.CreateWebsite(ctx, now,
		identity.NewWebsite{Name: domain, Domain: domain, Plan: app.PlanEnterprise},
		identity.NewStore{Name: domain, CountryCode: "DE", Timezone: "Europe/Berlin",
			Views: []app.StoreView{{Code: "de_de", Locale: "de-DE", Currency: "EUR"}}})
	if err != nil {
		return nil, err
	}
	t := &tenant{store: stores[0]}
	s.tenants = append(s.tenants, t)
	return t, s.subscribe(ctx, t, at)
}

// subscribe creates a webhook of a tenant at each of the receivers.
func (s *stage) subscribe(ctx context.Context, t *tenant, at []*receiver) error {
	var filter *string
	if s.settings.filter != "" {
		filter = &s.settings.filter
	}
	for _, r := range at {
		s.webhooks++
		created, err := s.b.db.CreateSubscription(ctx, time.Now(), t.store, app.Actor{}, app.NewSubscription{
			URL: r.url(s.webhooks), Events: []app.EventType{app.EventOrderCreated, app.EventProductCreated},
			Filter: filter, Ordering: s.settings.ordering, Secret: app.NewSecret(webhookSecret),
		}, nil)
		if err != nil {
			return err
		}
		t.webhooks = append(t.webhooks, webhook{created.ID, s.webhooks})
	}
	return nil
}

// warmUp commits n events and waits for their first attempts and until the processes are idle. Connections are then
// open, receivers count as quick, and caches are filled. It returns the processes.
func (s *stage) warmUp(ctx context.Context, worker *harness.Process, n int) (processes, error) {
	return s.warmUpWith(ctx, worker, func() (deliveries int, err error) {
		events := newEvents(s.tenants, n)
		_, err = s.b.emitter.commit(ctx, events, nil)
		return deliveriesOf(events), err
	})
}

// warmUpClients is warmUp with clients that commit the events, at least one each, so that their connections are open.
func (s *stage) warmUpClients(ctx context.Context, worker *harness.Process, n int) (processes, error) {
	return s.warmUpWith(ctx, worker, func() (deliveries int, err error) {
		events, err := s.commitEach(ctx, s.tenants, max(n, clientConnections))
		return deliveriesIn(events), err
	})
}

// warmUpWith is warmUp with a function that commits the events and returns the number of their deliveries.
func (s *stage) warmUpWith(
	ctx context.Context, worker *harness.Process, commit func() (deliveries int, err error),
) (processes, error) {
	p, err := s.b.processes(worker.PID)
	if err != nil {
		return p, err
	}
	n, err := commit()
	if err != nil {
		return p, err
	}
	if _, err := s.arrivals.await(ctx, worker, n); err != nil {
		return p, fmt.Errorf("warm-up: %w", err)
	}
	_, err = settle(ctx, p)
	s.arrivals.reset()
	return p, err
}

// subscriptions returns the ids of all webhooks.
func (s *stage) subscriptions() (ids []string) {
	for _, t := range s.tenants {
		for _, w := range t.webhooks {
			ids = append(ids, string(w.id))
		}
	}
	return ids
}

// with counts the deliveries of all webhooks that have one of the statuses.
func (s *stage) with(ctx context.Context, statuses ...app.DeliveryStatus) (n int, err error) {
	err = s.b.emitter.scan(ctx, &n, `SELECT count(*) FROM deliveries
		WHERE subscription_id = ANY ($1) AND status = ANY ($2)`, s.subscriptions(), statuses)
	return n, err
}
