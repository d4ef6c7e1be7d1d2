package main

import (
	"context"
	"fmt"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

const (
	memberPassword = "the password of a member"
	// minorPerPoint is the worth of a loyalty point, and fewestPoints the least number of points for an order.
	minorPerPoint, fewestPoints = 2, 3
	// mostPoints are worth less than the cheapest product.
	mostPoints = 100
)

// registerCustomer registers a customer with an account. A request that is repeated after a lost response is refused.
func registerCustomer(ctx context.Context, t *turn) error {
	client, err := t.site.all.client("")
	if err != nil {
		return err
	}
	in := comanda.RegisterCustomerRequest{
		StoreID: t.site.store, Email: t.unique("member") + "@example.com", FirstName: "Member",
		LastName: fmt.Sprint(t.Number), Password: memberPassword,
	}
	return t.sendAs(ctx, client, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		login, err := c.RegisterCustomer(ctx, in)
		if err == nil {
			t.Subject = login.Customer.ID
			remember(t.site, &t.site.members, t.Subject)
		}
		return err
	})
}

// memberOrder returns an order of a customer with an account.
func (t *turn) memberOrder() (in comanda.PlaceOrderRequest, err error) {
	if t.Subject, err = choose(t, &t.site.members); err != nil {
		return in, err
	}
	in = t.site.newOrder(t.random)
	in.Customer, in.CustomerID = comanda.Nullable[comanda.GuestRequest]{}, &t.Subject
	return in, nil
}

// placeMemberOrder places an order that earns points when it is completed.
func placeMemberOrder(ctx context.Context, t *turn) error {
	in, err := t.memberOrder()
	if err != nil {
		return err
	}
	return t.place(ctx, in)
}

// redeemPoints places an order with points of its customer. Of two that redeem the same points, one succeeds.
func redeemPoints(ctx context.Context, t *turn) error {
	in, err := t.memberOrder()
	if err != nil {
		return err
	}
	var member *comanda.Customer
	err = t.prepare(ctx, func(ctx context.Context, c *comanda.Client) (err error) {
		member, err = c.GetCustomer(ctx, t.Subject)
		return err
	})
	if err != nil {
		return err
	}
	if member.LoyaltyPoints < fewestPoints {
		return errNoTarget
	}
	points := int(number(t.random, fewestPoints, min(mostPoints, int64(member.LoyaltyPoints))))
	in.DiscountMinor, in.LoyaltyPoints = nil, &points
	return t.place(ctx, in)
}
