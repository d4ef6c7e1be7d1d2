package api

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// clubMember is a customer with an account and points, in a store where a point is worth two cents.
type clubMember struct {
	*world
	id    app.CustomerID
	token string // of the customer
}

func (w *world) addMemberOfClub(points int64) clubMember {
	w.Helper()
	w.do("PATCH", "/settings", w.tokens["OWNER"],
		object{"loyalty": object{"minorPerPoint": object{"EUR": 2}, "minPoints": 50}}).ok(200, nil)
	ada := w.addCustomer("own", "ada@example.com")
	w.exec("UPDATE customers SET loyalty_points = $2 WHERE id = $1", ada.Customer.ID, points)
	return clubMember{w, ada.Customer.ID, ada.AccessToken}
}

func (m clubMember) body(points any, change object) object {
	return altered(altered(m.orderBody("own"), object{
		"customer": nil, "customerId": m.id, "loyaltyPoints": points,
	}), change)
}

// redeem places an order with points.
func (m clubMember) redeem(points int64, change object) (placed orderOut) {
	m.Helper()
	m.do("POST", "/orders", m.tokens["OWNER"], m.body(points, change)).ok(201, &placed)
	return placed
}

// checkBalance compares the balance, as the customer sees it, and the entries of the ledger.
func (m clubMember) checkBalance(what string, points int64, entries ...string) {
	m.Helper()
	var customer app.Customer
	m.do("GET", "/customers/"+string(m.id), m.token, nil).ok(200, &customer)
	var ledger []app.LoyaltyEntry
	m.do("GET", "/customers/"+string(m.id)+"/loyalty", m.token, nil).ok(200, &ledger)
	var got []string
	for _, e := range ledger {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Points))
	}
	slices.Sort(got) // their times are equal
	slices.Sort(entries)
	if diff := cmp.Diff(entries, got); customer.LoyaltyPoints != points || diff != "" {
		m.Errorf("%s: got balance %d, want %d; entries (-want +got): %s", what, customer.LoyaltyPoints, points, diff)
	}
}

func (w *world) setStatus(o orderOut, status app.OrderStatus) {
	w.Helper()
	w.do("PATCH", "/orders/"+string(o.ID)+"/status", w.tokens["OWNER"], statusBody(status)).ok(200, nil)
}

// Points lower the total and its taxes like a discount, and what the order earns.
func TestRedeemPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(1000)
	var quote app.OrderQuote
	m.do("POST", "/orders/quote", m.tokens["STAFF"], m.body(100, nil)).ok(200, &quote)
	m.checkBalance("after a quote", 1000)
	placed := m.redeem(100, object{"discountMinor": 300, "expectedTotalMinor": 1400})
	discounted, _ := m.place(object{"discountMinor": 500})
	if quote.LoyaltyPoints != 100 || quote.LoyaltyMinor != 200 || quote.TotalMinor != 1700 {
		t.Errorf("quote: got %+v, want 100 points worth 200 and total 1700", quote)
	}
	if placed.LoyaltyPoints != 100 || placed.LoyaltyMinor != 200 || placed.TotalMinor != 1400 ||
		placed.DiscountMinor != 300 {
		t.Errorf("order: got %+v, want 100 points worth 200, discount 300 and total 1400", placed.Order)
	}
	if diff := cmp.Diff(discounted.Taxes, placed.Taxes); diff != "" {
		t.Errorf("taxes (-of a discount +of discount and points): %s", diff)
	}
	m.checkBalance("after the order", 900, "REDEEMED -100")
	w.setStatus(placed, app.OrderCompleted)
	m.checkBalance("after completion", 914, "EARNED 14", "REDEEMED -100")
	var event app.Order
	events := w.eventData("own", app.EventOrderCompleted)
	w.read(events[len(events)-1], &event)
	if event.LoyaltyPoints != 100 || event.LoyaltyMinor != 200 {
		t.Errorf("event: got %d points worth %d, want 100 and 200", event.LoyaltyPoints, event.LoyaltyMinor)
	}
	other, _ := m.place(nil)
	if other.LoyaltyPoints != 0 || other.LoyaltyMinor != 0 {
		t.Errorf("order without points: got %+v, want none", other.Order)
	}
}

func TestRedeemRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(1000)
	guest, _ := w.place(object{"customer": object{"name": "Bob", "email": "bob@example.com"}})
	abroad := w.do("GET", "/store", w.tokens["OWNER"], nil)
	var store app.Store
	abroad.ok(200, &store)
	for name, c := range map[string]struct {
		body object
		code app.Code
	}{
		"zero":             {m.body(0, nil), app.CodeValidationFailed},
		"negative":         {m.body(-1, nil), app.CodeValidationFailed},
		"a fraction":       {m.body(50.5, nil), app.CodeValidationFailed},
		"too large":        {m.body(int64(app.MaxPoints)+1, nil), app.CodeValidationFailed},
		"below the least":  {m.body(49, nil), app.CodeValidationFailed},
		"above the total":  {m.body(951, nil), app.CodeValidationFailed},
		"above the rest":   {m.body(900, object{"discountMinor": 200}), app.CodeValidationFailed},
		"too few points":   {m.body(940, nil), app.CodeConflict},
		"another currency": {m.body(100, object{"storeViewId": store.StoreViews[1].ID}), app.CodeValidationFailed},
		"a guest":          {m.body(100, object{"customerId": guest.Customer.ID}), app.CodeValidationFailed},
		"nobody known": {
			m.body(100, object{"customerId": nil, "customer": object{"name": "Ada"}}), app.CodeValidationFailed,
		},
	} {
		if c.code == app.CodeConflict {
			w.exec("UPDATE customers SET loyalty_points = 939 WHERE id = $1", m.id)
		}
		for _, path := range []string{"/orders", "/orders/quote"} {
			w.run(name+" "+path, func(*testing.T) {
				a := w.do("POST", path, w.tokens["OWNER"], c.body)
				if c.code == app.CodeConflict {
					a.refused(c.code)
					return
				}
				a.refused(c.code, "loyaltyPoints")
			})
		}
	}
	m.checkBalance("after refusals", 939)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"loyalty": object{"minorPerPoint": object{"EUR": nil}}}).
		ok(200, nil)
	w.do("POST", "/orders", w.tokens["OWNER"], m.body(100, nil)).refused(app.CodeValidationFailed, "loyaltyPoints")
	for name, bad := range map[string]object{
		"no worth": {"minorPerPoint": object{"EUR": 0}}, "no currency": {"minorPerPoint": object{"XXX": 1}},
		"too much": {"minorPerPoint": object{"EUR": 1_000_001}}, "least": {"minPoints": -1}, "unknown": {"max": 1},
	} {
		w.run(name, func(*testing.T) {
			w.do("PATCH", "/settings", w.tokens["OWNER"], object{"loyalty": bad}).refused(app.CodeValidationFailed)
		})
	}
}

// Of twenty concurrent orders, as many redeem points as the balance allows. It is never below zero.
func TestTwentyRedemptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(250)
	codes := make(chan int, 20)
	var group sync.WaitGroup
	for range cap(codes) {
		group.Go(func() { codes <- w.do("POST", "/orders", w.tokens["OWNER"], m.body(80, nil)).Code })
	}
	group.Wait()
	close(codes)
	count := map[int]int{}
	for code := range codes {
		count[code]++
	}
	if count[201] != 3 || count[409] != 17 {
		t.Errorf("got %v, want 3 times 201 and 17 times 409", count)
	}
	m.checkBalance("after twenty orders", 10, "REDEEMED -80", "REDEEMED -80", "REDEEMED -80")
}

// A cancellation and a refund of everything return the points once; other refunds do not.
func TestPointsReturn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(300)
	cancelled := m.redeem(100, nil)
	w.setStatus(cancelled, app.OrderCancelled)
	w.setStatus(cancelled, app.OrderCancelled)
	m.checkBalance("after a cancellation", 300, "RETURNED 100", "REDEEMED -100")
	paid := m.redeem(100, nil) // 1700
	pay := func(transaction string, amount int64) (p app.Payment) {
		t.Helper()
		w.do("POST", "/orders/"+string(paid.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
			"transactionId": transaction, "amountMinor": amount,
		})).ok(201, &p)
		return p
	}
	refund := func(p app.Payment, id string, amount int64) {
		t.Helper()
		w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"], altered(refundBody(amount), object{
			"providerRefundId": id,
		})).ok(201, nil)
	}
	deposit := pay("deposit", 500)
	refund(deposit, "re_deposit", 500)
	m.checkBalance("after a deposit was returned", 200, "REDEEMED -100", "RETURNED 100", "REDEEMED -100")
	all := pay("all", 1700)
	w.setStatus(paid, app.OrderCompleted)
	refund(all, "re_part", 700)
	refund(all, "re_rest", 1000)
	m.checkBalance("after a full refund", 300, "REVERSED -10", "RETURNED 100", "REVERSED -7", "EARNED 17",
		"REDEEMED -100", "RETURNED 100", "REDEEMED -100")
}

// A refund of a part that exceeds the total after a later change leaves the redeemed points taken.
func TestPointsOfLoweredOrderStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(100)
	placed := m.redeem(100, nil) // 1700
	var p app.Payment
	w.do("POST", "/orders/"+string(placed.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
		"amountMinor": 1700,
	})).ok(201, &p)
	w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"], refundBody(1000)).ok(201, nil)
	var order orderOut
	w.do("GET", "/orders/"+string(placed.ID), w.tokens["OWNER"], nil).ok(200, &order)
	w.amend(order, w.tokens["OWNER"], object{"items": []any{kept(placed.Items[0], object{"quantity": 1})}}).
		ok(200, &order) // 750
	w.setStatus(order, app.OrderCompleted)
	var ledger []app.LoyaltyEntry
	w.do("GET", "/customers/"+string(m.id)+"/loyalty", m.token, nil).ok(200, &ledger)
	if slices.ContainsFunc(ledger, func(e app.LoyaltyEntry) bool { return e.Kind == app.PointsReturned }) {
		t.Errorf("got %+v, want no entry RETURNED while 700 of the payment stay", ledger)
	}
}

// The points that cover an order stay taken when payments that it does not need are refunded.
func TestPointsThatCoverAnOrderStay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(2000)
	pay := func(o orderOut, amount int64) (p app.Payment) {
		t.Helper()
		w.do("POST", "/orders/"+string(o.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
			"amountMinor": amount,
		})).ok(201, &p)
		return p
	}
	refund := func(p app.Payment) {
		t.Helper()
		w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"], refundBody(p.AmountMinor)).ok(201, nil)
	}
	lower := func(o orderOut) {
		t.Helper()
		w.do("GET", "/orders/"+string(o.ID), w.tokens["OWNER"], nil).ok(200, &o)
		w.amend(o, w.tokens["OWNER"], object{"items": []any{kept(o.Items[0], object{"quantity": 1})}}).ok(200, &o)
		if o.TotalMinor != 0 {
			t.Fatalf("total of the lowered order: got %d, want 0", o.TotalMinor)
		}
	}
	overpaid := m.redeem(475, nil) // 1900 − 950
	payment := pay(overpaid, 950)
	lower(overpaid)
	refund(payment)
	deposited := m.redeem(475, nil)
	refund(pay(deposited, 100))
	lower(deposited)
	w.setStatus(deposited, app.OrderConfirmed)
	refund(pay(m.redeem(950, nil), 5)) // a payment by mistake
	m.checkBalance("after the refunds", 100, "REDEEMED -475", "REDEEMED -475", "REDEEMED -950")
}

// Earned points that were redeemed meanwhile are not reversed.
func TestReversalsStopAtZero(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(100)
	earning, _ := w.place(object{"customer": nil, "customerId": m.id, "items": []any{
		object{"productId": w.stores["own"].product.ID, "quantity": 10},
	}}) // 9500
	var p app.Payment
	w.do("POST", "/orders/"+string(earning.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
		"amountMinor": 9700, "tipMinor": 200,
	})).ok(201, &p)
	w.setStatus(earning, app.OrderCompleted) // earns 95
	redeeming := m.redeem(150, nil)
	m.checkBalance("before the refund", 45, "REDEEMED -150", "EARNED 95")
	refund := func(amount, tip int64) {
		t.Helper()
		w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"],
			altered(refundBody(amount), object{"tipMinor": tip})).ok(201, nil)
	}
	refund(7600, 0)
	m.checkBalance("after the refund", 0, "REVERSED -45", "REDEEMED -150", "EARNED 95")
	w.setStatus(redeeming, app.OrderCancelled)
	refund(200, 200)
	m.checkBalance("after the refund of the tip", 150, "RETURNED 150", "REVERSED -45", "REDEEMED -150", "EARNED 95")
	refund(1900, 0)
	m.checkBalance("after the refund of the rest", 131, "REVERSED -19", "RETURNED 150", "REVERSED -45",
		"REDEEMED -150", "EARNED 95")
}

// The return of a deposit reverses no points of an order that is not paid.
func TestReturnedDepositsReverseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(0)
	placed, path := w.place(object{"customer": nil, "customerId": m.id}) // 1900
	var p app.Payment
	w.do("POST", path+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{"amountMinor": 500})).ok(201, &p)
	w.setStatus(placed, app.OrderCompleted)
	w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"], refundBody(500)).ok(201, nil)
	m.checkBalance("after the refund", 19, "EARNED 19")
}

// A paid order with points can be lowered, refunded and raised; its customer stays. Only a refund after which nothing
// is due returns the points.
func TestAmendOrderWithPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(1000)
	placed := m.redeem(400, nil) // 1900 − 800
	var paid app.Payment
	w.do("POST", "/orders/"+string(placed.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
		"amountMinor": 1100,
	})).ok(201, &paid)
	var order orderOut
	read := func() { w.do("GET", "/orders/"+string(placed.ID), w.tokens["OWNER"], nil).ok(200, &order) }
	read()
	refund := func(amount int64) {
		t.Helper()
		w.do("POST", "/payments/"+string(paid.ID)+"/refunds", w.tokens["OWNER"], refundBody(amount)).ok(201, nil)
		read()
	}
	amend := func(body object) *response { t.Helper(); return w.amend(order, w.tokens["OWNER"], body) }
	amend(object{"discountMinor": 1101}).refused(app.CodeValidationFailed, "discountMinor")
	amend(object{"customer": object{"name": "Bob", "email": "bob@example.com"}}).refused(app.CodeConflict)
	amend(object{"loyaltyPoints": 1}).refused(app.CodeValidationFailed, "loyaltyPoints")
	items := func(quantity int) object {
		return object{"items": []any{kept(placed.Items[0], object{"quantity": quantity})}}
	}
	amend(items(1)).ok(200, &order) // 950 − 800
	if order.TotalMinor != 150 || order.LoyaltyMinor != 800 || order.RefundableMinor != 950 {
		t.Errorf("lowered: got total %d, points' worth %d, refundable %d; want 150, 800, 950", order.TotalMinor,
			order.LoyaltyMinor, order.RefundableMinor)
	}
	refund(950)
	amend(items(3)).ok(200, &order) // 2850 − 800
	if order.TotalMinor != 2050 || order.OutstandingMinor != 1900 {
		t.Errorf("raised: got total %d, outstanding %d; want 2050, 1900", order.TotalMinor, order.OutstandingMinor)
	}
	m.checkBalance("after the changes", 600, "REDEEMED -400")
	amend(items(1)).ok(200, &order)
	refund(150)
	m.checkBalance("after the refund of the rest", 1000, "RETURNED 400", "REDEEMED -400")
}

// An order whose points have returned takes them again when it is raised or paid. A change for which the customer has
// too few is refused; a payment takes the rest.
func TestReturnedPointsAreTakenAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.addMemberOfClub(400)
	var order orderOut
	pay := func(amount int64) (p app.Payment) {
		t.Helper()
		w.do("POST", "/orders/"+string(order.ID)+"/payments", w.tokens["OWNER"], altered(paymentBody(), object{
			"amountMinor": amount, "transactionId": app.NewID[app.PaymentID](noon),
		})).ok(201, &p)
		return p
	}
	refund := func(p app.Payment) {
		t.Helper()
		w.do("POST", "/payments/"+string(p.ID)+"/refunds", w.tokens["OWNER"], refundBody(p.AmountMinor)).ok(201, nil)
		w.do("GET", "/orders/"+string(order.ID), w.tokens["OWNER"], nil).ok(200, &order)
	}
	amend := func(quantity int) *response {
		t.Helper()
		return w.amend(order, w.tokens["OWNER"], object{"items": []any{
			kept(order.Items[0], object{"quantity": quantity}),
		}})
	}
	ledger := []string{"REDEEMED -400"}
	expect := func(what string, points int64, entries ...string) {
		t.Helper()
		ledger = append(ledger, entries...)
		m.checkBalance(what, points, slices.Clone(ledger)...)
	}
	order = m.redeem(400, nil) // 1900 − 800
	refund(pay(1100))
	expect("refunded", 400, "RETURNED 400")
	amend(1).ok(200, &order) // 950 − 800
	expect("lowered", 400)
	w.exec("UPDATE customers SET loyalty_points = 399 WHERE id = $1", m.id)
	amend(3).refused(app.CodeConflict)
	w.exec("UPDATE customers SET loyalty_points = 400 WHERE id = $1", m.id)
	w.do("PATCH", "/orders/"+string(order.ID)+"?dryRun=true", w.tokens["OWNER"], object{"items": []any{
		kept(order.Items[0], object{"quantity": 3}),
	}}, ifMatch(order.Version)).ok(200, nil)
	expect("dry run", 400)
	amend(3).ok(200, &order) // 2850 − 800, of which 1100 are compensated
	expect("raised", 0, "REDEEMED -400")
	if order.TotalMinor != 2050 || order.OutstandingMinor != 950 {
		t.Errorf("raised: got total %d, outstanding %d, want 2050, 950", order.TotalMinor, order.OutstandingMinor)
	}
	amend(2).ok(200, &order)
	expect("lowered to the compensated amount", 400, "RETURNED 400")
	w.setStatus(order, app.OrderConfirmed)
	refund(pay(1100))
	expect("paid and refunded again", 400, "REDEEMED -400", "RETURNED 400")
	spent := m.redeem(250, nil)
	expect("another order", 150, "REDEEMED -250")
	last := pay(1100)
	expect("paid with the rest", 0, "REDEEMED -150")
	w.setStatus(spent, app.OrderCancelled)
	expect("the other order is cancelled", 250, "RETURNED 250")
	refund(last)
	w.setStatus(order, app.OrderCancelled)
	expect("refunded and cancelled", 400, "RETURNED 150")
}
