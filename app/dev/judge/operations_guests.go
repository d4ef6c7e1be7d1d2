package main

import (
	"context"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

func changeCustomer(ctx context.Context, t *turn) (err error) {
	if t.Subject, err = choose(t, &t.site.customers); err != nil {
		return err
	}
	in := comanda.ChangeCustomerRequest{Phone: comanda.Set(fmt.Sprintf("+49151%08d", t.Number))}
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.UpdateCustomer(ctx, t.Subject, in)
		return err
	})
}

// eraseCustomer erases a customer: one who has just got an order, or any, which is refused while an order of the
// customer is open.
func eraseCustomer(ctx context.Context, t *turn) (err error) {
	if t.random.IntN(2) == 0 {
		err = t.served(ctx)
	} else {
		t.Subject, err = choose(t, &t.site.customers)
	}
	if err != nil {
		return err
	}
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		return c.EraseCustomer(ctx, t.Subject, nil)
	})
}

// served completes an order of a new guest, who is the subject.
func (t *turn) served(ctx context.Context) error {
	in := t.site.newOrder(t.random)
	in.Customer = comanda.Set(comanda.GuestRequest{
		Name: "Passing guest", Email: new(t.unique("passing") + "@example.com"),
	})
	err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
		order, err := c.PlaceOrder(ctx, in, comanda.IdempotencyKey(t.key+"-guest"))
		if err == nil {
			t.Order, t.Subject = order.ID, *order.Customer.ID
		}
		return err
	})
	if err != nil {
		return err
	}
	return t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
		completed := comanda.ChangeOrderStatusRequest{Status: comanda.OrderStatusCompleted}
		_, err := c.UpdateOrderStatus(ctx, t.Order, completed)
		return err
	})
}

func reserve(ctx context.Context, t *turn) error {
	in := comanda.CreateReservationRequest{
		Customer: new(newGuest(t.random)), PartySize: int(number(t.random, 1, 8)),
		StartAt: dayAhead(t.random, time.Now()),
	}
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		reservation, err := c.CreateReservation(ctx, in, key)
		if err == nil {
			t.Subject = reservation.ID
			remember(t.site, &t.site.reservations, reservation.ID)
		}
		return err
	})
}

// advanceReservation confirms or cancels a reservation.
func advanceReservation(ctx context.Context, t *turn) (err error) {
	if t.Subject, err = choose(t, &t.site.reservations); err != nil {
		return err
	}
	in := comanda.ChangeReservationStatusRequest{Status: comanda.ReservationStatusConfirmed}
	if t.random.IntN(3) == 0 {
		in.Status, in.CancellationReason = comanda.ReservationStatusCancelled, new("Rain")
	}
	t.Detail = string(in.Status)
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.UpdateReservationStatus(ctx, t.Subject, in)
		return err
	})
}

// changePlan switches the plan of the website up or down.
func changePlan(ctx context.Context, t *turn) error {
	plans := []comanda.Plan{comanda.PlanStarter, comanda.PlanStarter, comanda.PlanGrow, comanda.PlanEnterprise}
	in := comanda.ChangeBillingRequest{Plan: plans[t.random.IntN(len(plans))]}
	t.Detail = string(in.Plan)
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.UpdateBilling(ctx, in)
		return err
	})
}

// issueKey creates an API key. A repeated request does not show the key, which then cannot be used.
func issueKey(ctx context.Context, t *turn) error {
	in := comanda.CreateAPIKeyRequest{
		Name: t.unique("key"), Scopes: []comanda.Scope{comanda.ScopeWriteOrders},
	}
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		created, err := c.CreateAPIKey(ctx, in, key)
		if err != nil {
			return err
		}
		t.Subject = created.ID
		if created.Key == "" {
			return nil
		}
		client, err := t.site.all.client(created.Key)
		if err == nil {
			remember(t.site, &t.site.keys, &issued{id: created.ID, client: client})
		}
		return err
	})
}

// revokeKey revokes an API key that an operation has created.
func revokeKey(ctx context.Context, t *turn) error {
	chosen, err := choose(t, &t.site.keys)
	if err != nil {
		return err
	}
	t.Subject = chosen.id
	return t.sendAsOwner(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		_, err := c.RevokeAPIKey(ctx, chosen.id)
		if err == nil {
			t.site.lock.Lock()
			defer t.site.lock.Unlock()
			chosen.revoked = true
		}
		return err
	})
}

// useRevokedKey places an order with an API key whose revocation was confirmed.
func useRevokedKey(ctx context.Context, t *turn) error {
	t.site.lock.Lock()
	var revoked []*issued
	for _, one := range t.site.keys {
		if one.revoked {
			revoked = append(revoked, one)
		}
	}
	t.site.lock.Unlock()
	chosen, err := choose(t, &revoked)
	if err != nil {
		return err
	}
	t.Subject = chosen.id
	in := t.site.newOrder(t.random)
	return t.sendAs(ctx, chosen.client, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		order, err := c.PlaceOrder(ctx, in, key)
		if err == nil {
			t.shown(order)
		}
		return err
	})
}
