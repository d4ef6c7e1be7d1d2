package trigger

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// object is a JSON object.
type object = map[string]any

// recipe causes an event.
type recipe struct {
	scopes []string
	run    func(ctx context.Context, c *Client, s store) (string, error)
}

var (
	orderScopes       = []string{"write:orders", "write:products"}
	productScopes     = []string{"write:products"}
	reservationScopes = []string{"write:reservations"}
)

// recipes are the recipes by event type. customer.updated is missing: API keys cannot change customers.
var recipes = map[string]recipe{
	"order.created":        {orderScopes, placed("the order %s was placed", nil)},
	"order.updated":        {orderScopes, placed("the order %s was changed", noted)},
	"order.status_updated": {orderScopes, placed("the order %s was confirmed", toStatus("CONFIRMED"))},
	"order.completed":      {orderScopes, placed("the order %s was completed", toStatus("COMPLETED"))},
	"order.cancelled":      {orderScopes, placed("the order %s was cancelled", toStatus("CANCELLED"))},
	"payment.succeeded":    {orderScopes, placed("the order %s was paid", paid("SUCCEEDED"))},
	"payment.failed":       {orderScopes, placed("a payment of the order %s failed", paid("FAILED"))},
	"payment.refunded":     {orderScopes, placed("the payment of the order %s was refunded", refunded)},
	"customer.created":     {orderScopes, placed("the order %s was placed by a new customer", nil)},

	"product.created": {productScopes, func(ctx context.Context, c *Client, s store) (string, error) {
		dish, err := c.createDish(ctx, s)
		return fmt.Sprintf("the product %s was created", dish.ID), err
	}},
	"product.updated": {productScopes, func(ctx context.Context, c *Client, s store) (string, error) {
		dish, err := c.dish(ctx, s)
		if err == nil {
			err = c.call(ctx, http.MethodPatch, "/products/"+dish.ID,
				object{"description": "Changed at " + c.Now().UTC().Format(time.RFC3339Nano)}, nil)
		}
		return fmt.Sprintf("the product %s was changed", dish.ID), err
	}},

	"reservation.created":   {reservationScopes, reserved("created", "")},
	"reservation.confirmed": {reservationScopes, reserved("confirmed", "CONFIRMED")},
	"reservation.cancelled": {reservationScopes, reserved("cancelled", "CANCELLED")},
}

// product is the part of a product that a recipe needs.
type product struct {
	ID, Name  string
	Orderable bool
}

// dish returns the product that is ordered, created if there is none.
func (c *Client) dish(ctx context.Context, s store) (product, error) {
	var found []product
	err := c.call(ctx, http.MethodGet, "/products?limit=100&q="+url.QueryEscape(DishName), nil, &found)
	if err != nil {
		return product{}, err
	}
	for _, p := range found {
		if p.Name == DishName && p.Orderable {
			return p, nil
		}
	}
	return c.createDish(ctx, s)
}

func (c *Client) createDish(ctx context.Context, s store) (product, error) {
	var dish product
	err := c.call(ctx, http.MethodPost, "/products",
		object{"name": DishName, "priceMinor": 950, "currency": s.currency(), "isAvailable": true}, &dish)
	return dish, err
}

// order is the part of an order that a recipe needs.
type order struct {
	ID         string
	Number     string `json:"orderId"`
	TotalMinor int64
	Currency   string
}

// placed returns a recipe that places an order of a new guest, and then calls next unless it is nil. text describes the
// event and contains %s for the order's number.
func placed(text string, next func(context.Context, *Client, order) error) func(
	context.Context, *Client, store) (string, error) {
	return func(ctx context.Context, c *Client, s store) (string, error) {
		dish, err := c.dish(ctx, s)
		if err != nil {
			return "", err
		}
		var o order
		wanted := object{
			"items": []object{{"productId": dish.ID, "quantity": 1}}, "fulfillmentType": "PICKUP", "source": "API",
			"customer": object{"name": "Demo guest", "email": fmt.Sprintf("guest-%d@example.com", c.Now().UnixNano())},
		}
		err = c.call(ctx, http.MethodPost, "/orders", wanted, &o)
		if next := nextOpenAt(err); next != "" {
			wanted["requestedFor"] = next
			err = c.call(ctx, http.MethodPost, "/orders", wanted, &o)
		}
		if err == nil && next != nil {
			err = next(ctx, c, o)
		}
		return fmt.Sprintf(text, o.Number), err
	}
}

// nextOpenAt returns the time at which a store takes orders again, or "" unless it has refused an order because it is
// closed.
func nextOpenAt(err error) string {
	refused, ok := errors.AsType[*comanda.Error](err)
	if !ok || refused.Code != comanda.ErrorCodeStoreClosed {
		return ""
	}
	for _, detail := range refused.Details {
		if detail.Path == "nextOpenAt" {
			return detail.Message
		}
	}
	return ""
}

// toStatus changes the status of an order.
func toStatus(status string) func(context.Context, *Client, order) error {
	change := object{"status": status}
	if status == "CANCELLED" {
		change["cancellationReason"] = "comanda trigger"
	}
	return func(ctx context.Context, c *Client, o order) error {
		return c.call(ctx, http.MethodPatch, "/orders/"+o.ID+"/status", change, nil)
	}
}

// noted adds a note to an order.
func noted(ctx context.Context, c *Client, o order) error {
	return c.call(ctx, http.MethodPatch, "/orders/"+o.ID, object{"note": "comanda trigger"}, nil)
}

// paid records a payment of an order.
func paid(status string) func(context.Context, *Client, order) error {
	return func(ctx context.Context, c *Client, o order) error {
		_, err := c.pay(ctx, o, status)
		return err
	}
}

func (c *Client) pay(ctx context.Context, o order, status string) (id string, err error) {
	payment := object{
		"provider": "DEMO", "transactionId": fmt.Sprintf("demo-%d", c.Now().UnixNano()), "status": status,
		"amountMinor": o.TotalMinor, "currency": o.Currency, "paymentMethod": "card",
	}
	if status == "FAILED" {
		payment["errorCode"] = "card_declined"
	}
	var recorded struct{ ID string }
	err = c.call(ctx, http.MethodPost, "/orders/"+o.ID+"/payments", payment, &recorded)
	return recorded.ID, err
}

// refunded records a payment of an order and its refund.
func refunded(ctx context.Context, c *Client, o order) error {
	payment, err := c.pay(ctx, o, "SUCCEEDED")
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, "/payments/"+payment+"/refunds", object{
		"amountMinor": o.TotalMinor, "reason": "comanda trigger",
		"providerRefundId": fmt.Sprintf("demo-%d", c.Now().UnixNano()),
	}, nil)
}

// searchedDays is the number of days, from today, in which a reservation is placed.
const searchedDays = 31

// freeSlot returns the last start of the first day on which a party of one can reserve. The first start may become too
// early before the reservation is placed.
func (c *Client) freeSlot(ctx context.Context) (string, error) {
	for day := range searchedDays {
		var slots []struct{ StartAt string }
		date := c.Now().UTC().AddDate(0, 0, day).Format(time.DateOnly)
		err := c.call(ctx, http.MethodGet, "/reservations/slots?partySize=1&date="+date, nil, &slots)
		if err != nil {
			return "", err
		}
		if len(slots) > 0 {
			return slots[len(slots)-1].StartAt, nil
		}
	}
	return "", fmt.Errorf("the store takes no reservation within %d days", searchedDays)
}

// reserved returns a recipe that creates a reservation and then changes its status, unless it is "".
func reserved(action, status string) func(context.Context, *Client, store) (string, error) {
	return func(ctx context.Context, c *Client, _ store) (string, error) {
		startAt, err := c.freeSlot(ctx)
		if err != nil {
			return "", err
		}
		var reservation struct{ ID string }
		err = c.call(ctx, http.MethodPost, "/reservations", object{
			"customer": object{"name": "Demo guest"}, "partySize": 1, "startAt": startAt,
		}, &reservation)
		if err == nil && status != "" {
			change := object{"status": status}
			if status == "CANCELLED" {
				change["cancellationReason"] = "comanda trigger"
			}
			err = c.call(ctx, http.MethodPatch, "/reservations/"+reservation.ID+"/status", change, nil)
		}
		return fmt.Sprintf("the reservation %s was %s", reservation.ID, action), err
	}
}
