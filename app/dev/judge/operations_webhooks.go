package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// fewest is the number of webhooks that a site keeps.
const fewest = 3

// selections are the event types of webhooks.
var selections = [][]comanda.SubscribableEventType{
	{comanda.SubscribableEventTypeAll},
	{comanda.SubscribableEventTypeOrderCreated},
	{comanda.SubscribableEventTypeOrderStatusUpdated, comanda.SubscribableEventTypeOrderCompleted},
	{comanda.SubscribableEventTypeOrderUpdated, comanda.SubscribableEventTypeOrderCancelled},
	{comanda.SubscribableEventTypePaymentSucceeded, comanda.SubscribableEventTypePaymentRefunded},
	{comanda.SubscribableEventTypeCustomerCreated, comanda.SubscribableEventTypeCustomerUpdated},
	{comanda.SubscribableEventTypeProductCreated, comanda.SubscribableEventTypeProductUpdated},
	{comanda.SubscribableEventTypeReservationCreated, comanda.SubscribableEventTypeReservationConfirmed},
	{
		comanda.SubscribableEventTypeOrderCreated, comanda.SubscribableEventTypeOrderUpdated,
		comanda.SubscribableEventTypeOrderStatusUpdated, comanda.SubscribableEventTypePaymentSucceeded,
	},
}

// expressions are filters that some events fulfil.
var expressions = []string{
	`type != "order.updated"`,
	`!has(data.totalMinor) || data.totalMinor > 2000`,
	`!has(data.fulfillmentType) || data.fulfillmentType == "PICKUP"`,
}

// newWebhook returns a webhook with a random selection, filter, ordering and receiver.
func (s *site) newWebhook(random *rand.Rand) (comanda.CreateWebhookRequest, *receiver) {
	secret := newSecret(random)
	r := s.newReceiver(random, secret)
	in := comanda.CreateWebhookRequest{
		URL: s.all.receivers.url(r), Secret: secret, Ordering: newOrdering(random),
		Events: selections[random.IntN(len(selections))],
	}
	if random.IntN(4) == 0 {
		in.Filter = &expressions[random.IntN(len(expressions))]
	}
	if random.IntN(4) == 0 {
		in.Headers = map[string]string{"X-Judge": r.path}
	}
	return in, r
}

func newSecret(random *rand.Rand) string {
	return fmt.Sprintf("whsec_of_the_judge_%016x%016x", random.Uint64(), random.Uint64())
}

func newOrdering(random *rand.Rand) *comanda.WebhookOrdering {
	if random.IntN(2) == 0 {
		return new(comanda.WebhookOrderingResource)
	}
	return new(comanda.WebhookOrderingNone)
}

func createWebhook(ctx context.Context, t *turn) error {
	in, r := t.site.newWebhook(t.random)
	t.Detail = r.path + ", " + r.behavior.name
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		created, err := c.CreateWebhook(ctx, in, key)
		if err == nil {
			t.Webhook = created.ID
			t.site.hook(created.ID, r)
		}
		return err
	})
}

// webhook chooses a webhook.
func (t *turn) webhook() (*hooked, error) {
	chosen, err := choose(t, &t.site.webhooks)
	if err == nil {
		t.Webhook = chosen.id
	}
	return chosen, err
}

// changeWebhook changes a webhook. The detail is for the timeline.
func (t *turn) changeWebhook(ctx context.Context, in comanda.ChangeWebhookRequest, detail string) error {
	chosen, err := t.webhook()
	if err != nil {
		return err
	}
	return t.change(ctx, chosen.id, in, detail)
}

func (t *turn) change(ctx context.Context, id string, in comanda.ChangeWebhookRequest, detail string) error {
	t.Detail = detail
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		changed, err := c.UpdateWebhook(ctx, id, in)
		if err == nil {
			t.Version = changed.Version
		}
		return err
	})
}

// switchWebhook returns the operation that deactivates or activates a webhook.
func switchWebhook(active bool) func(context.Context, *turn) error {
	return func(ctx context.Context, t *turn) error {
		return t.changeWebhook(ctx, comanda.ChangeWebhookRequest{IsActive: &active}, fmt.Sprintf("active: %t", active))
	}
}

func changeOrdering(ctx context.Context, t *turn) error {
	ordering := newOrdering(t.random)
	return t.changeWebhook(ctx, comanda.ChangeWebhookRequest{Ordering: ordering}, string(*ordering))
}

// noFilter is the detail of an operation that removes a filter.
const noFilter = "no filter"

func changeFilter(ctx context.Context, t *turn) error {
	filter := comanda.Null[string]()
	detail := noFilter
	if t.random.IntN(2) == 0 {
		detail = expressions[t.random.IntN(len(expressions))]
		filter = comanda.Set(detail)
	}
	return t.changeWebhook(ctx, comanda.ChangeWebhookRequest{Filter: filter}, detail)
}

func changeEvents(ctx context.Context, t *turn) error {
	events := selections[t.random.IntN(len(selections))]
	return t.changeWebhook(ctx, comanda.ChangeWebhookRequest{Events: events}, fmt.Sprint(events))
}

// another chooses a webhook whose receiver does not hang, since renewals need those that do.
func (t *turn) another() (*hooked, error) {
	chosen, err := t.webhook()
	if err != nil {
		return nil, err
	}
	t.site.lock.Lock()
	defer t.site.lock.Unlock()
	if chosen.hangs() {
		return nil, errNoTarget
	}
	return chosen, nil
}

// moveWebhook gives a webhook another receiver.
func moveWebhook(ctx context.Context, t *turn) error {
	chosen, err := t.another()
	if err != nil {
		return err
	}
	r := t.site.newReceiver(t.random, chosen.receivers[0].all()...)
	t.site.lock.Lock()
	chosen.receivers = append(chosen.receivers, r)
	t.site.lock.Unlock()
	r.named(chosen.id)
	url := t.site.all.receivers.url(r)
	return t.change(ctx, chosen.id, comanda.ChangeWebhookRequest{URL: &url}, r.path+", "+r.behavior.name)
}

// rotateSecret gives a webhook another secret, of which its receivers learn before.
func rotateSecret(ctx context.Context, t *turn) error {
	chosen, err := t.webhook()
	if err != nil {
		return err
	}
	secret := newSecret(t.random) + fmt.Sprint(t.Number)
	t.site.lock.Lock()
	for _, r := range chosen.receivers {
		r.rotate(secret)
	}
	t.site.lock.Unlock()
	in := comanda.RotateSecretRequest{Secret: secret, OverlapSeconds: new(int(number(t.random, 0, 5)))}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		rotated, err := c.RotateWebhookSecret(ctx, chosen.id, in)
		if err == nil {
			t.Version = rotated.Version
		}
		return err
	})
}

// deleteWebhook deletes a webhook, unless the site has few.
func deleteWebhook(ctx context.Context, t *turn) error {
	t.site.lock.Lock()
	few := len(t.site.webhooks) <= fewest
	t.site.lock.Unlock()
	if few {
		return errNoTarget
	}
	chosen, err := t.another()
	if err != nil {
		return err
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		err := c.DeleteWebhook(ctx, chosen.id)
		if err == nil {
			t.site.forget(chosen.id)
		}
		return err
	})
}

// testWebhook sends a test event.
func testWebhook(ctx context.Context, t *turn) error {
	chosen, err := t.webhook()
	if err != nil {
		return err
	}
	return t.sendOnce(ctx, func(ctx context.Context, c *comanda.Client) error {
		result, err := c.TestWebhook(ctx, chosen.id)
		if err == nil {
			t.Detail = strings.TrimSpace(fmt.Sprint(result.StatusCode, " ", result.Error))
		}
		return err
	})
}
