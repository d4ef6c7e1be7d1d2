package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// kind is a kind of operations.
type kind struct {
	name     string
	required bool     // must succeed in a long run
	refused  bool     // must be refused: that it is done is a violation
	weight   int      // how often it is in a round of the plan
	sites    []string // that make it
	perform  func(ctx context.Context, t *turn) error
}

var (
	everywhere = []string{chain, starter, quiet, restless, sandbox}
	busy       = []string{chain, starter, sandbox}
	menus      = []string{chain, starter}
	guests     = []string{chain, starter, quiet}
	unsettled  = []string{restless, starter}
)

// kinds are the kinds of operations.
var kinds = []kind{
	{"place order", true, false, 12, everywhere, placeOrder},
	{"place channel order", true, false, 4, everywhere, placeChannelOrder},
	{"change order", true, false, 5, everywhere, changeOrder},
	{"change stale order", false, true, 1, busy, changeStaleOrder},
	{"advance order", true, false, 12, everywhere, advanceOrder},
	{"cancel order", true, false, 3, everywhere, cancelOrder},
	{"pay order", true, false, 7, everywhere, payOrder},
	{"pay part", true, false, 4, everywhere, payPart},
	{"fail payment", false, false, 1, guests, failPayment},
	{"tip", false, false, 2, guests, tip},
	{"refund", true, false, 4, everywhere, refund},
	{"refund rest", false, false, 2, busy, refundRest},
	{"refund tip", false, false, 1, guests, refundTip},
	{"create product", false, false, 2, menus, createProduct},
	{"delete product", false, false, 1, menus, deleteProduct},
	{"change product", true, false, 4, everywhere, changeProduct},
	{"change stock", false, false, 2, busy, changeStock},
	{"sell out", false, false, 2, menus, sellOut},
	{"import", true, false, 5, busy, importMenu},
	{"change customer", false, false, 3, guests, changeCustomer},
	{"erase customer", false, false, 1, guests, eraseCustomer},
	{"register customer", false, false, 1, guests, registerCustomer},
	{"add address", false, false, 2, guests, addAddress},
	{"delete address", false, false, 1, guests, deleteAddress},
	{"change email", false, false, 1, guests, changeEmail},
	{"place member order", false, false, 3, guests, placeMemberOrder},
	{"redeem points", false, false, 2, guests, redeemPoints},
	{"reserve", false, false, 2, guests, reserve},
	{"advance reservation", false, false, 2, guests, advanceReservation},
	{"create webhook", true, false, 6, unsettled, createWebhook},
	{"switch webhook off", true, false, 5, unsettled, switchWebhook(false)},
	{"switch webhook on", true, false, 6, unsettled, switchWebhook(true)},
	{"renew webhook", false, false, 3, unsettled, renewWebhook},
	{"rotate secret", false, false, 2, unsettled, rotateSecret},
	{"change ordering", true, false, 5, unsettled, changeOrdering},
	{"change filter", false, false, 2, unsettled, changeFilter},
	{"change events", false, false, 1, unsettled, changeEvents},
	{"move webhook", false, false, 1, unsettled, moveWebhook},
	{"delete webhook", true, false, 5, unsettled, deleteWebhook},
	{"test webhook", false, false, 1, unsettled, testWebhook},
	{"replay delivery", true, false, 3, everywhere, replayDelivery},
	{"retry delivery", false, false, 3, everywhere, retryDelivery},
	{"replay webhook", true, false, 5, []string{chain, starter, restless}, replayWebhook},
	{"replay store", false, false, 1, []string{restless, sandbox}, replayStore},
	{"cancel replay", false, false, 1, []string{chain, starter, restless}, cancelReplay},
	{"suspend website", false, false, 1, []string{restless}, suspendWebsite},
	{"change plan", false, false, 2, []string{starter}, changePlan},
	{"invite", false, false, 4, []string{chain, starter, quiet, restless}, invite},
	{"issue key", false, false, 1, guests, issueKey},
	{"revoke key", false, false, 1, guests, revokeKey},
	{"use revoked key", false, true, 1, guests, useRevokedKey},
}

// kindOf returns the kind of a name, which the table must have.
func kindOf(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

// recent is the number of the newest orders that operations choose, so that several hit the same one.
const recent = 12

// choose returns an element of a list of the site, mostly one of the newest. Without an element, the operation ends.
func choose[T any](t *turn, list *[]T) (one T, err error) {
	t.site.lock.Lock()
	defer t.site.lock.Unlock()
	n := len(*list)
	if n == 0 {
		return one, errNoTarget
	}
	first := max(0, n-recent)
	if t.random.IntN(4) == 0 {
		first = 0
	}
	return (*list)[first+t.random.IntN(n-first)], nil
}

// remember adds an element to a list of the site.
func remember[T any](s *site, list *[]T, one T) {
	s.lock.Lock()
	defer s.lock.Unlock()
	*list = append(*list, one)
}

// order reads one of the newest orders.
func (t *turn) order(ctx context.Context) (order *comanda.Order, err error) {
	if t.Order, err = choose(t, &t.site.orders); err != nil {
		return nil, err
	}
	err = t.prepare(ctx, func(ctx context.Context, c *comanda.Client) (err error) {
		order, err = c.GetOrder(ctx, t.Order)
		return err
	})
	return order, err
}

// shown records the order of a response.
func (t *turn) shown(order *comanda.Order) {
	t.Order, t.Amount, t.Version = order.ID, order.TotalMinor, order.Version
}

// number returns a random number from one to another.
func number(random *rand.Rand, from, to int64) int64 { return from + random.Int64N(to-from+1) }

// unique returns a text that no other operation uses.
func (t *turn) unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, t.Number) }
