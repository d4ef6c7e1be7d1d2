package main

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// checkOperations checks that the state has what a response confirmed: no confirmed operation is lost, and none is made
// that must be refused.
func checkOperations(h *history, s *state) (found []violation) {
	for _, o := range h.Operations {
		if o.Result != done {
			continue
		}
		if text := lost(h, s, o); text != "" {
			found = append(found, violation{
				Text:  fmt.Sprintf("operation %d of %s, %q, was confirmed: %s", o.Number, o.Site, o.Kind, text),
				Order: o.Order, Webhook: o.Webhook,
			})
		}
	}
	return found
}

// lost returns what the state lacks of a confirmed operation, or "".
func lost(h *history, s *state, o operation) string {
	if slices.ContainsFunc(kinds, func(k kind) bool { return k.name == o.Kind && k.refused }) {
		return "it must be refused"
	}
	order, known := s.Orders[o.Order]
	switch {
	case o.Order == "":
	case !known:
		return "the order does not exist"
	case order.Store != h.Stores[o.Site]:
		return "the order belongs to another store"
	case order.Version < o.Version:
		return fmt.Sprintf("the order has version %d, not %d", order.Version, o.Version)
	}
	switch o.Kind {
	case "cancel order":
		if !order.cancelled() {
			return "the order is " + order.Status
		}
	case "pay order", "pay part", "fail payment", "tip":
		p, known := s.Payments[o.Subject]
		if !known || p.AmountMinor != o.Amount || p.Order != o.Order {
			return fmt.Sprintf("payment %s of %d of the order does not exist", o.Subject, o.Amount)
		}
	case "refund", "refund rest", "refund tip":
		r, known := s.Refunds[o.Subject]
		if !known || r.AmountMinor != o.Amount || r.Order != o.Order {
			return fmt.Sprintf("refund %s of %d of the order does not exist", o.Subject, o.Amount)
		}
	case "create product", "change product", "change stock", "sell out":
		if versions := s.Stocks[o.Subject]; len(versions) == 0 || versions[0].Store != h.Stores[o.Site] {
			return "product " + o.Subject + " does not exist"
		}
	case "delete product":
		i := slices.IndexFunc(s.Menu, func(p productRow) bool { return p.ID == o.Subject })
		if i < 0 || s.Menu[i].DeletedAt == nil {
			return "product " + o.Subject + " is not deleted"
		}
	case "add address", "delete address", "change email":
		return lostProfile(h, s, o)
	case "register customer":
		if s.Customers[o.Subject].Store != h.Stores[o.Site] {
			return "customer " + o.Subject + " does not exist"
		}
	case "redeem points":
		if order.LoyaltyPoints == 0 {
			return "the order has no points"
		}
	case "retry delivery":
		return lostRetry(h, s, o)
	case "change plan":
		stepped := h.stepped(o.Begin) || h.stepped(o.End)
		if website := s.Stores[h.Stores[o.Site]].Website; !stepped && !s.hadPlan(website, o.Detail, o) {
			return "the website has not got the plan " + o.Detail
		}
	case "erase customer":
		if s.Customers[o.Subject].ErasedAt == nil {
			return "customer " + o.Subject + " is not erased"
		}
	}
	return lostWebhook(h, s, o)
}

// lostProfile is lost for the changes that customers make in their accounts. An erasure removes their data.
func lostProfile(h *history, s *state, o operation) string {
	_, kept := s.Addresses[o.Subject]
	switch o.Kind {
	case "add address":
		deleted := slices.ContainsFunc(h.Operations, func(other operation) bool {
			return other.Kind == "delete address" && other.Subject == o.Subject
		})
		if !kept && !deleted && s.Customers[o.Detail].ErasedAt == nil {
			return "address " + o.Subject + " does not exist"
		}
	case "delete address":
		if kept {
			return "address " + o.Subject + " is not deleted"
		}
	case "change email":
		shown := slices.ContainsFunc(s.sortedEvents(h.Stores[o.Site]), func(e *eventRow) bool {
			return e.Resource == o.Subject && e.Body != nil && strings.Contains(*e.Body, o.Detail)
		})
		if !shown && s.Customers[o.Subject].ErasedAt == nil {
			return "no event of " + o.Subject + " shows " + o.Detail
		}
	}
	return ""
}

// lostRetry is lost for a retry (docs/behaviour.md#attempts): its attempt is recorded, and was not made before the
// request. The clock of the API decides that, so that the second rule does not hold during faults, or for attempts that
// a stepped clock of PostgreSQL dates later.
func lostRetry(h *history, s *state, o operation) string {
	i := slices.IndexFunc(s.Attempts[o.Subject], func(a attemptRow) bool { return a.ID == o.Attempt })
	switch {
	case i < 0:
		return fmt.Sprintf("attempt %q of %s does not exist", o.Attempt, o.Subject)
	case s.Attempts[o.Subject][i].Number <= o.Attempts && h.fresh(o):
		return fmt.Sprintf("attempt %s of %s was made before the request", o.Attempt, o.Subject)
	}
	return lostWebhook(h, s, o)
}

// fresh reports whether a retry was made at a time without a fault.
func (h *history) fresh(o operation) bool {
	return h.disturbed(o.Begin, o.End) == 0 && !h.stepped(o.Begin)
}

// lostWebhook is lost for the operations of webhooks.
func lostWebhook(h *history, s *state, o operation) string {
	versions := s.Webhooks[o.Webhook]
	has := func(state func(webhookRow) bool) bool { return slices.ContainsFunc(versions, state) }
	switch {
	case o.Webhook == "":
		return ""
	case len(versions) == 0:
		return "the webhook does not exist"
	case versions[0].Store != h.Stores[o.Site]:
		return "the webhook belongs to another store"
	}
	if o.Kind == "delete webhook" && versions[len(versions)-1].DeletedAt == nil {
		return "the webhook is not deleted"
	}
	if o.Kind == "rotate secret" && o.Tries == 1 && !rotated(versions, o.Version) {
		return fmt.Sprintf("version %d of the webhook has no new secret", o.Version)
	}
	if value := o.value(); value != nil && !has(func(w webhookRow) bool {
		return (o.Version == 0 || w.Version == o.Version) && value(w)
	}) {
		return fmt.Sprintf("version %d of the webhook has not the value %q", o.Version, o.Detail)
	}
	return ""
}

// value returns the condition on a webhook after an operation that changes it; nil = it changes no value of the log.
func (o operation) value() func(webhookRow) bool {
	switch o.Kind {
	case "switch webhook on", "switch webhook off":
		return func(w webhookRow) bool { return w.Active == (o.Kind == "switch webhook on") }
	case "change ordering":
		return func(w webhookRow) bool { return w.Ordering == o.Detail }
	case "change filter":
		return func(w webhookRow) bool {
			return w.Filter == nil && o.Detail == noFilter || w.Filter != nil && *w.Filter == o.Detail
		}
	case "change events":
		return func(w webhookRow) bool { return fmt.Sprint(w.Events) == o.Detail }
	case "move webhook":
		path, _, _ := strings.Cut(o.Detail, ",")
		return func(w webhookRow) bool { return strings.HasSuffix(w.URL, path) }
	}
	return nil
}

// rotated reports whether a version of a webhook has another secret, which the log leaves out: the version differs from
// the one before in nothing that the log has.
func rotated(versions []webhookRow, version int64) bool {
	i := slices.IndexFunc(versions, func(w webhookRow) bool { return w.Version == version })
	if i < 1 {
		return false
	}
	is, was := versions[i], versions[i-1]
	is.logged, is.Version = was.logged, was.Version
	return reflect.DeepEqual(is, was)
}

// hadPlan reports whether a website had a plan at a moment of an operation. A fault can delay the commit of a change.
func (s *state) hadPlan(website, plan string, o operation) bool {
	versions := s.Websites[website]
	for i, v := range versions {
		replaced := i+1 < len(versions) && versions[i+1].At.Before(o.Begin.Add(-aftermath))
		if v.Plan == plan && !replaced && !v.At.After(o.End) {
			return true
		}
	}
	return false
}

// creation is the insert of an object by a request that accepts an Idempotency-Key.
type creation struct {
	logged
	kind, id string
}

// creations returns the inserted orders, webhooks, bulk replays, reservations and invitations.
func (s *state) creations() (list []creation) {
	for _, c := range s.Changes {
		if c.From == nil && c.Version == 1 {
			list = append(list, creation{c.logged, "order", c.Order})
		}
	}
	for id, versions := range s.Webhooks {
		list = append(list, creation{versions[0].logged, "webhook", id})
	}
	for id, versions := range s.Asked {
		list = append(list, creation{versions[0].logged, "bulk replay", id})
	}
	for _, e := range s.Events {
		if e.Type == string(app.EventReservationCreated) {
			list = append(list, creation{e.logged, "reservation", e.Resource})
		}
	}
	for id, l := range s.Inserted {
		list = append(list, creation{l, "invitation", id})
	}
	return list
}

// created returns the id of the object that a confirmed operation has created with its key, "" if it creates none.
func (o operation) created() string {
	switch o.Kind {
	case "place order", "place channel order":
		return o.Order
	case "create webhook":
		return o.Webhook
	case "replay webhook", "replay store", "renew webhook", "reserve", "invite":
		return o.Subject
	}
	return ""
}

// checkIdempotency checks docs/behaviour.md#idempotency-keys: a key makes at most one object, an object that an
// operation created has its key, and a request that was refused stores nothing.
func checkIdempotency(h *history, s *state) (found []violation) {
	made, keyed := map[uint64][]string{}, map[uint64]bool{} // by transaction
	stored := map[int]keyRow{}                              // by number of the operation
	for _, k := range s.Keys {
		keyed[k.XID] = true
		if n, ok := operationOf(h, k.Key); ok {
			stored[n] = k
		}
	}
	for _, c := range s.creations() {
		made[c.XID] = append(made[c.XID], c.id)
		if c.At.After(h.Begin) && !keyed[c.XID] {
			found = append(found, violation{Text: fmt.Sprintf("the %s %s was created without a key", c.kind, c.id)})
		}
	}
	for _, k := range s.Keys {
		if n := len(made[k.XID]); n > 1 {
			found = append(found, violation{Text: fmt.Sprintf("the key %s has created %d objects", k.Key, n)})
		}
	}
	for _, o := range h.Operations {
		k, known := stored[o.Number]
		add := func(format string, args ...any) {
			text := fmt.Sprintf("operation %d, %q, ", o.Number, o.Kind) + fmt.Sprintf(format, args...)
			found = append(found, violation{Text: text, Order: o.Order, Webhook: o.Webhook})
		}
		id, got := o.created(), made[k.XID]
		switch {
		case o.Result == refused && known:
			add("was refused: %s, and has stored its key", o.Code)
		case o.Result == done && id != "" && (!known || len(got) != 1 || got[0] != id):
			add("has created %v with its key, not %s as the response says", got, id)
		}
	}
	return found
}

// operationOf returns the number of the operation of an idempotency key.
func operationOf(h *history, key string) (int, bool) {
	seed, number, _ := strings.Cut(key, "-")
	n, err := strconv.Atoi(number)
	return n, err == nil && seed == strconv.FormatUint(h.Seed, 10)
}

// checkInternal checks docs/behaviour.md#error-codes: a request that a fault of the infrastructure prevents gets
// UNAVAILABLE, and its client repeats it. INTERNAL is a defect.
func checkInternal(h *history, _ *state) (found []violation) {
	for _, o := range h.Operations {
		if o.Internal > 0 {
			found = append(found, violation{
				Text: fmt.Sprintf("operation %d of %s, %q, got %d responses with status 500",
					o.Number, o.Site, o.Kind, o.Internal),
				Order: o.Order, Webhook: o.Webhook,
			})
		}
	}
	return found
}
