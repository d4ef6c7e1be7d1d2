package main

import (
	"context"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// replayed is the time before an operation whose deliveries a bulk replay repeats.
const replayed = 10 * time.Second

// delivery chooses one of the newest deliveries with one of some statuses.
func (t *turn) delivery(ctx context.Context, statuses ...comanda.DeliveryStatus) (*comanda.Delivery, error) {
	var list *comanda.List[comanda.Delivery, comanda.CursorMeta]
	params := comanda.ListDeliveriesParams{Status: statuses[t.random.IntN(len(statuses))], Limit: recent}
	err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) (err error) {
		list, err = c.ListDeliveries(ctx, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(list.Data) == 0 {
		return nil, errNoTarget
	}
	chosen := &list.Data[t.random.IntN(len(list.Data))]
	t.Subject, t.Webhook, t.Attempts = chosen.ID, chosen.WebhookID, chosen.Attempts
	t.Detail = fmt.Sprintf("event %s, %s after %d attempts", chosen.EventID, chosen.Status, chosen.Attempts)
	return chosen, nil
}

// replayDelivery replays an ended delivery. A request that is repeated after a lost response finds the delivery in
// progress.
func replayDelivery(ctx context.Context, t *turn) error {
	chosen, err := t.delivery(ctx, comanda.DeliveryStatusDeadLetter, comanda.DeliveryStatusDeadLetter,
		comanda.DeliveryStatusDelivered, comanda.DeliveryStatusDelivered, comanda.DeliveryStatusCancelled)
	if err != nil {
		return err
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.ReplayDelivery(ctx, chosen.ID)
		return err
	})
}

// retryDelivery makes the next attempt of a delivery now.
func retryDelivery(ctx context.Context, t *turn) error {
	chosen, err := t.delivery(ctx, comanda.DeliveryStatusRetrying)
	if err != nil {
		return err
	}
	return t.sendOnce(ctx, func(ctx context.Context, c *comanda.Client) error {
		made, err := c.RetryDelivery(ctx, chosen.ID)
		if err == nil {
			t.Attempt = made.ID
		}
		return err
	})
}

// replayWebhook starts a bulk replay of the newest deliveries of a webhook, or of events that it has missed.
func replayWebhook(ctx context.Context, t *turn) error {
	chosen, err := t.webhook()
	if err != nil {
		return err
	}
	statuses := []comanda.ReplayedStatus{
		comanda.ReplayedStatusDeadLetter, comanda.ReplayedStatusDeadLetter, comanda.ReplayedStatusMissed,
		comanda.ReplayedStatusDelivered, comanda.ReplayedStatusCancelled,
	}
	in := comanda.ReplayWebhookRequest{
		From: time.Now().Add(-replayed), Status: &statuses[t.random.IntN(len(statuses))],
	}
	t.Detail = string(*in.Status)
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		replay, err := c.ReplayWebhook(ctx, chosen.id, in, key)
		if err == nil {
			t.Subject = replay.ID
			remember(t.site, &t.site.replays, replay.ID)
		}
		return err
	})
}

// replayStore starts a bulk replay of the newest dead letters of all webhooks.
func replayStore(ctx context.Context, t *turn) error {
	in := comanda.ReplayStoreRequest{
		From: time.Now().Add(-replayed), Status: new(comanda.EndedStatusDeadLetter),
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		replay, err := c.ReplayDeliveries(ctx, in, key)
		if err == nil {
			t.Subject = replay.ID
			remember(t.site, &t.site.replays, replay.ID)
		}
		return err
	})
}

// cancelReplay cancels a bulk replay: one that it has just requested, or any, which is refused if it has ended.
func cancelReplay(ctx context.Context, t *turn) (err error) {
	if t.random.IntN(2) == 0 {
		err = t.requestReplay(ctx)
	} else {
		t.Subject, err = choose(t, &t.site.replays)
	}
	if err != nil {
		return err
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.CancelReplay(ctx, t.Subject)
		return err
	})
}

// requestReplay starts a bulk replay of the newest deliveries of a webhook, which is the subject.
func (t *turn) requestReplay(ctx context.Context) error {
	chosen, err := t.webhook()
	if err != nil {
		return err
	}
	in := comanda.ReplayWebhookRequest{
		From: time.Now().Add(-replayed), Status: new(comanda.ReplayedStatusDelivered),
	}
	return t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
		replay, err := c.ReplayWebhook(ctx, chosen.id, in, comanda.IdempotencyKey(t.key+"-replay"))
		if err == nil {
			t.Subject = replay.ID
		}
		return err
	})
}
