package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// guestPool is the number of guests of a site, so that most of them come again.
const guestPool = 25

// newOrder returns an order of products, options, a discount and a guest.
func (s *site) newOrder(random *rand.Rand) comanda.PlaceOrderRequest {
	in := comanda.PlaceOrderRequest{FulfillmentType: comanda.FulfillmentTypePickup}
	switch random.IntN(3) {
	case 0:
		in.FulfillmentType, in.TableLabel = comanda.FulfillmentTypeDineIn, new(fmt.Sprint(1+random.IntN(20)))
	case 1:
		in.FulfillmentType = comanda.FulfillmentTypeDelivery
		in.DeliveryAddress = &comanda.DeliveryAddress{Line1: "Main Street 1", City: "Berlin", Country: "DE"}
	}
	if in.FulfillmentType == comanda.FulfillmentTypeDelivery || random.IntN(4) > 0 {
		in.Customer = comanda.Set(newGuest(random))
	}
	for range 1 + random.IntN(4) {
		in.Items = append(in.Items, s.newItem(random))
	}
	if random.IntN(5) == 0 {
		in.DiscountMinor = new(number(random, 1, 300))
	}
	if random.IntN(3) == 0 {
		in.Note = new("No onions")
	}
	return in
}

func newGuest(random *rand.Rand) comanda.GuestRequest {
	n := random.IntN(guestPool)
	return comanda.GuestRequest{Name: fmt.Sprintf("Guest %d", n), Email: new(fmt.Sprintf("guest%d@example.com", n))}
}

// newItem returns an item of a product of the menu, with one option of each required group.
func (s *site) newItem(random *rand.Rand) comanda.OrderItemRequest {
	s.lock.Lock()
	product := s.products[random.IntN(len(s.products))]
	s.lock.Unlock()
	item := comanda.OrderItemRequest{ProductID: &product.ID, Quantity: number(random, 1, 3)}
	for _, group := range product.OptionGroups {
		option := group.Options[random.IntN(len(group.Options))]
		item.Options = append(item.Options, comanda.OrderOptionRequest{OptionID: option.ID})
	}
	return item
}

func placeOrder(ctx context.Context, t *turn) error { return t.place(ctx, t.site.newOrder(t.random)) }

// place places an order.
func (t *turn) place(ctx context.Context, in comanda.PlaceOrderRequest) error {
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		order, err := c.PlaceOrder(ctx, in, key)
		if err != nil {
			return err
		}
		t.shown(order)
		t.Detail = order.OrderID
		remember(t.site, &t.site.orders, order.ID)
		if order.Customer.ID != nil {
			remember(t.site, &t.site.customers, *order.Customer.ID)
		}
		return nil
	})
}

// placeChannelOrder places an order at the prices of a sales channel, with a line without a product. Of two with the
// same external id, one succeeds.
func placeChannelOrder(ctx context.Context, t *turn) error {
	in := t.site.newOrder(t.random)
	in.Channel, in.ExternalID, in.DiscountMinor = new("Uber Eats"), new(fmt.Sprintf("channel-%x", t.Pick)), nil
	for i := range in.Items {
		in.Items[i].UnitPriceMinor = new(number(t.random, 500, 2500))
	}
	in.Items = append(in.Items, comanda.OrderItemRequest{
		Name: new("Paper bag"), Quantity: 1, UnitPriceMinor: new(int64(25)),
	})
	in.DeliveryFeeMinor = new(number(t.random, 0, 500))
	return t.place(ctx, in)
}

// changeOrder changes the items, the note or the discount of an order in the version that it has read.
func changeOrder(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	return t.amend(ctx, order.ID, t.amendment(order), order.Version)
}

// changeStaleOrder changes an order in a version that it does not have.
func changeStaleOrder(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	return t.amend(ctx, order.ID, t.amendment(order), order.Version+1_000_000)
}

// amendment returns a random change of an order.
func (t *turn) amendment(order *comanda.Order) (in comanda.AmendOrderRequest) {
	switch t.random.IntN(4) {
	case 0:
		in.Note = comanda.Set(t.unique("note"))
		return in
	case 1:
		in.DiscountMinor = new(number(t.random, 0, max(1, order.SubtotalMinor/2)))
		return in
	}
	for i, item := range order.Items {
		if i > 0 && t.random.IntN(3) == 0 {
			continue // is removed
		}
		in.Items = append(in.Items, comanda.AmendedItemRequest{
			ID: &item.ID, Quantity: new(int(number(t.random, 1, 4))),
		})
	}
	if t.random.IntN(2) == 0 {
		added := t.site.newItem(t.random)
		in.Items = append(in.Items, comanda.AmendedItemRequest{
			ProductID: added.ProductID, Options: added.Options, Quantity: new(int(added.Quantity)),
		})
	}
	return in
}

func (t *turn) amend(ctx context.Context, id string, in comanda.AmendOrderRequest, version int64) error {
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		order, err := c.UpdateOrder(ctx, id, comanda.UpdateOrderParams{}, in, key, comanda.IfMatch(version))
		if err == nil {
			t.shown(order)
		}
		return err
	})
}

// advanceOrder moves an order to one of its next statuses, without a cancellation.
func advanceOrder(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	for _, status := range order.AllowedTransitions {
		if status != comanda.OrderStatusCancelled && t.random.IntN(2) == 0 {
			return t.move(ctx, order.ID, comanda.ChangeOrderStatusRequest{Status: status})
		}
	}
	return t.move(ctx, order.ID, comanda.ChangeOrderStatusRequest{Status: comanda.OrderStatusCompleted})
}

func cancelOrder(ctx context.Context, t *turn) error {
	order, err := t.order(ctx)
	if err != nil {
		return err
	}
	reason := "Guest did not come"
	return t.move(ctx, order.ID, comanda.ChangeOrderStatusRequest{
		Status: comanda.OrderStatusCancelled, CancellationReason: &reason,
	})
}

// move changes the status of an order. A lost request that was made is repeated without an effect.
func (t *turn) move(ctx context.Context, id string, in comanda.ChangeOrderStatusRequest) error {
	t.Detail = string(in.Status)
	return t.send(ctx, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		order, err := c.UpdateOrderStatus(ctx, id, in)
		if err == nil {
			t.shown(order)
		}
		return err
	})
}

// dayAhead returns a time in one of the next weeks.
func dayAhead(random *rand.Rand, now time.Time) time.Time {
	day := now.AddDate(0, 0, 1+random.IntN(30)).Truncate(24 * time.Hour)
	return day.Add(time.Duration(number(random, 40, 80)) * 15 * time.Minute)
}
