package main

import (
	"context"
	"fmt"
	"math/rand/v2"

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
	in := t.site.newMember(t.unique("member"))
	return t.sendAs(ctx, client, func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
		login, err := c.RegisterCustomer(ctx, in)
		if err == nil {
			t.Subject = login.Customer.ID
			remember(t.site, &t.site.members, &member{id: t.Subject, email: in.Email, client: client})
		}
		return err
	})
}

// enroll registers the first customers with accounts, who have earned points.
func (s *site) enroll(ctx context.Context, random *rand.Rand) error {
	for n := range 3 {
		client, err := s.all.client("")
		if err != nil {
			return err
		}
		registration := s.newMember(fmt.Sprintf("first-%d", n))
		login, err := client.RegisterCustomer(ctx, registration)
		if err != nil {
			return err
		}
		s.members = append(s.members, &member{id: login.Customer.ID, email: registration.Email, client: client})
		in := s.newOrder(random)
		in.Customer, in.CustomerID = comanda.Nullable[comanda.GuestRequest]{}, &login.Customer.ID
		order, err := s.key.PlaceOrder(ctx, in)
		if err != nil {
			return err
		}
		completed := comanda.ChangeOrderStatusRequest{Status: comanda.OrderStatusCompleted}
		if _, err := s.key.UpdateOrderStatus(ctx, order.ID, completed); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) newMember(name string) comanda.RegisterCustomerRequest {
	return comanda.RegisterCustomerRequest{
		StoreID: s.store, Email: name + "@example.com", FirstName: "Member", LastName: name, Password: memberPassword,
	}
}

// memberOrder returns an order of a customer with an account.
func (t *turn) memberOrder() (in comanda.PlaceOrderRequest, err error) {
	chosen, err := choose(t, &t.site.members)
	if err != nil {
		return in, err
	}
	t.Subject = chosen.id
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
	points := int(number(t.random, fewestPoints, min(mostPoints, member.LoyaltyPoints)))
	in.DiscountMinor, in.LoyaltyPoints = nil, &points
	return t.place(ctx, in)
}
