package main

import (
	"context"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// renewWebhook switches a webhook off, after some seconds on again, and replays its dead letters. Attempts that are in
// flight meanwhile, for example on a suspended worker, may be recorded after their delivery was queued again.
func renewWebhook(ctx context.Context, t *turn) error {
	chosen, err := t.hanging()
	if err != nil {
		return err
	}
	for _, active := range []bool{false, true} {
		err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
			_, err := c.UpdateWebhook(ctx, chosen.id, comanda.ChangeWebhookRequest{IsActive: &active})
			return err
		})
		if err != nil {
			return err
		}
		if !active {
			if err := wait(ctx, time.Duration(number(t.random, 1, 12))*time.Second); err != nil {
				return err
			}
		}
	}
	in := comanda.ReplayWebhookRequest{
		From: t.Begin.Add(-time.Minute), Status: new(comanda.ReplayedStatusDeadLetter),
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		replay, err := c.ReplayWebhook(ctx, chosen.id, in, key)
		if err == nil {
			t.Subject = replay.ID
		}
		return err
	})
}

// hanging chooses a webhook whose receiver hangs, if the site has one: its attempts are in flight for longest.
func (t *turn) hanging() (*hooked, error) {
	t.site.lock.Lock()
	list := slices.DeleteFunc(slices.Clone(t.site.webhooks), func(h *hooked) bool {
		return h.receivers[len(h.receivers)-1].behavior != hangs
	})
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
