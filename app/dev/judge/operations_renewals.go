package main

import (
	"context"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

const (
	// restTime is the longest time for which a webhook stays switched off. Another worker repeats the attempts of a
	// suspended one within it.
	restTime = 12 * time.Second
	// restPause is the time between two looks at the deliveries of a webhook that is switched off.
	restPause = 500 * time.Millisecond
)

// renewWebhook switches a webhook off, and on again when none of its deliveries is in progress, and replays its dead
// letters. Attempts that are in flight meanwhile, for example on a suspended worker, may be recorded after their
// delivery was queued again.
func renewWebhook(ctx context.Context, t *turn) error {
	chosen, err := t.hanging()
	if err != nil {
		return err
	}
	if err := t.activate(ctx, chosen.id, false); err != nil {
		return err
	}
	if err := t.rest(ctx, chosen.id); err != nil {
		return err
	}
	if err := t.activate(ctx, chosen.id, true); err != nil {
		return err
	}
	in := comanda.ReplayWebhookRequest{
		From: t.Begin.Add(-2 * time.Minute), Status: new(comanda.ReplayedStatusDeadLetter),
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		replay, err := c.ReplayWebhook(ctx, chosen.id, in, key)
		if err == nil {
			t.Subject = replay.ID
		}
		return err
	})
}

// activate switches a webhook on or off before the request of the operation.
func (t *turn) activate(ctx context.Context, webhook string, active bool) error {
	return t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
		_, err := c.UpdateWebhook(ctx, webhook, comanda.ChangeWebhookRequest{IsActive: &active})
		return err
	})
}

// rest waits until no delivery of a webhook is in progress, for at most restTime.
func (t *turn) rest(ctx context.Context, webhook string) error {
	for until := time.Now().Add(restTime); time.Now().Before(until); {
		if err := wait(ctx, restPause); err != nil {
			return err
		}
		running := 0
		for _, status := range []comanda.DeliveryStatus{comanda.DeliveryStatusPending, comanda.DeliveryStatusRetrying} {
			params := comanda.ListDeliveriesParams{WebhookID: webhook, Status: status, Limit: 1}
			err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
				list, err := c.ListDeliveries(ctx, params)
				if err == nil {
					running += len(list.Data)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		if running == 0 {
			return nil
		}
	}
	return nil
}

// hanging chooses a webhook whose receiver hangs, if the site has one: its attempts are in flight for longest.
func (t *turn) hanging() (*hooked, error) {
	t.site.lock.Lock()
	list := slices.DeleteFunc(slices.Clone(t.site.webhooks), func(h *hooked) bool { return !h.hangs() })
	t.site.lock.Unlock()
	if len(list) == 0 {
		return t.webhook()
	}
	chosen, err := choose(t, &list)
	if err == nil {
		t.Webhook = chosen.id
	}
	return chosen, err
}
