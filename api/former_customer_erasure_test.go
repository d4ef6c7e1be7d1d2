package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// chainOrder is an order that several customers had one after the other.
type chainOrder struct {
	*world
	order orderOut
	ids   map[string]app.CustomerID // by the customer's letter
	data  map[string][]string       // texts by the letter of the customer who had the order; "-" is nobody
	cards map[string][]string       // digits of cards, likewise

	// Each second period has the clock of another server, which is a minute behind.
	start  time.Time
	skewed bool

	repeat []func() // repeats the payment and the refund of a period
}

// period gives the order to a customer, and writes a note, a payment and a refund in this time.
func (c *chainOrder) period(n int, letter string) {
	c.Helper()
	staff := c.tokens["STAFF"]
	text := func(kind string) string { return fmt.Sprintf("%s-%s-%d", kind, letter, n) }
	note, reason, memo, card := text("note"), text("reason"), text("memo"), fmt.Sprintf("%d%d%d%d", n, n, n, n)
	var customer any
	if letter != "-" {
		customer = object{"name": "Guest " + letter, "email": strings.ToLower(letter) + "@example.com"}
	}
	c.now = c.start.Add(time.Duration(n) * time.Second)
	if c.skewed && n%2 == 0 {
		c.now = c.now.Add(-time.Minute)
	}
	if n == 1 {
		c.order, _ = c.place(object{"customer": customer, "items": []any{
			object{"productId": c.stores["own"].product.ID, "quantity": 2, "note": note},
		}})
	} else {
		c.amend(c.order, staff, object{
			"customer": customer, "items": []any{object{"id": c.order.Items[0].ID, "note": note}},
		}).ok(200, &c.order)
	}
	if id := c.order.Customer.ID; id != nil {
		c.ids[letter] = *id
	}
	c.amend(c.order, staff, object{"note": memo}).ok(200, &c.order)
	c.amend(c.order, staff, object{"note": nil}).ok(200, &c.order)
	var payment app.Payment
	paid := altered(paymentBody(), object{"transactionId": text("txn"), "cardLast4": card})
	c.do("POST", "/orders/"+string(c.order.ID)+"/payments", staff, paid).ok(201, &payment)
	refunds, refunded := "/payments/"+string(payment.ID)+"/refunds", altered(refundBody(1), object{"reason": reason})
	c.do("POST", refunds, c.tokens["OWNER"], refunded).ok(201, nil)
	c.repeat = append(c.repeat, func() {
		c.do("POST", "/orders/"+string(c.order.ID)+"/payments", staff, paid).ok(200, nil)
		c.do("POST", refunds, c.tokens["OWNER"], refunded).ok(200, nil)
	})
	c.do("GET", "/orders/"+string(c.order.ID), staff, nil).ok(200, &c.order)
	c.data[letter] = append(c.data[letter], note, reason, memo)
	c.cards[letter] = append(c.cards[letter], card)
}

// kept returns how many of the texts and cards are in the tables of orders.
func (c *chainOrder) kept(letter string) (n int) {
	c.Helper()
	for _, text := range c.data[letter] {
		for _, table := range []string{"order_history", "order_items", "refunds", "idempotency_keys"} {
			if c.text("SELECT count(*) > 0 FROM "+table+" t WHERE to_jsonb(t)::text LIKE $1", "%"+text+"%") == "true" {
				n++
				break
			}
		}
	}
	for _, card := range c.cards[letter] {
		if c.text("SELECT count(*) > 0 FROM payments WHERE card_last4 = $1", card) == "true" {
			n++
		}
	}
	return n
}

// The erasure of a customer reaches each period in which the customer had the order, and the events of the changes that
// began and ended it. It reaches nothing of the others. A time without a customer belongs to the next one.
func TestEraseInChain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ chain, erased string }{
		{"AB", "AB"}, {"AB", "BA"}, {"ABA", "AB"}, {"ABA", "BA"}, {"AB-", "AB"}, {"AB-", "BA"}, {"-A", "A"},
		{"A-A", "A"}, {"A-B", "AB"}, {"A-B", "BA"}, {"ABAB", "AB"}, {"ABAB", "BA"},
	} {
		for name, skewed := range map[string]bool{"": false, ", clocks differ": true} {
			t.Run(test.chain+" "+test.erased+name, func(t *testing.T) {
				t.Parallel()
				c := &chainOrder{
					world: newWorld(t), ids: map[string]app.CustomerID{}, data: map[string][]string{},
					cards: map[string][]string{}, skewed: skewed,
				}
				c.start = c.now.Add(2 * time.Minute)
				for i, letter := range strings.Split(test.chain, "") {
					c.period(i+1, letter)
				}
				c.do("PATCH", "/orders/"+string(c.order.ID)+"/status", c.tokens["STAFF"],
					object{"status": "COMPLETED"}).ok(200, nil)
				c.erase(test.chain, test.erased)
			})
		}
	}
}

// erase erases the customers one after the other, and compares the remaining data each time.
func (c *chainOrder) erase(chain, letters string) {
	c.Helper()
	all := map[string]int{}
	for letter := range c.data {
		all[letter] = len(c.data[letter]) + len(c.cards[letter])
		if got := c.kept(letter); got != all[letter] {
			c.Fatalf("before the erasures: got %d data of %s, want %d", got, letter, all[letter])
		}
	}
	// Nobody's time belongs to the customer after it.
	if at := strings.Index(chain, "-"); at >= 0 && at < len(chain)-1 {
		next := chain[at+1 : at+2]
		c.data[next], c.cards[next] = append(c.data[next], c.data["-"]...), append(c.cards[next], c.cards["-"]...)
		all[next] += all["-"]
		delete(all, "-")
	}
	// The members before a change are only compared.
	history := c.do("GET", "/orders/"+string(c.order.ID)+"/history", c.tokens["STAFF"], nil).ok(200, nil)
	if strings.Contains(history.Body.String(), "memo-") {
		c.Errorf("history: got %s, want it without former notes of the order", history.Body)
	}
	for _, letter := range strings.Split(letters, "") {
		c.do("DELETE", "/customers/"+string(c.ids[letter]), c.tokens["ADMIN"], nil).ok(204, nil)
		all[letter] = 0
		for _, repeat := range c.repeat {
			repeat()
		}
		for of, want := range all {
			if got := c.kept(of); got != want {
				c.Errorf("after the erasure of %s: got %d data of %s, want %d", letter, got, of, want)
			}
		}
		if n := c.text("SELECT count(*) FROM order_history h WHERE to_jsonb(h)::text LIKE $1",
			"%Guest "+letter+"%"); n != "0" {
			c.Errorf("after the erasure of %s: got %s changes with the name, want none", letter, n)
		}
		own := []string{"Guest " + letter, "note-" + letter, "reason-" + letter, "memo-" + letter, "txn-" + letter}
		for _, text := range append(own, c.data[letter]...) {
			if n := c.text("SELECT count(*) FROM outbox WHERE erasing IS NULL AND body LIKE $1",
				"%"+text+"%"); n != "0" {
				c.Errorf("after the erasure of %s: got %s events with %q, want none", letter, n, text)
			}
		}
		others := c.text(`SELECT coalesce(string_agg(type || ' ' || body, E'\n'), '') FROM outbox
			WHERE erasing = $1 AND body !~ $2`, c.ids[letter], "(Guest |note-|memo-|txn-)("+letter+"|-)")
		if others != "" {
			c.Errorf("after the erasure of %s: got erased events of others, want none:\n%s", letter, others)
		}
	}
	c.exec("DELETE FROM outbox") // erased bodies do not fit the schema
}
