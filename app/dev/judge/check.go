package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// checker finds violations of one rule in what a run has seen and left. It is a pure function.
type checker struct {
	name  string
	text  string // the rule
	check func(*history, *state) []violation
}

// checkers are all checkers. Each of them names the heading of docs/behaviour.md that states its rule.
var checkers = []checker{
	{"dispatch", "each committed event has a delivery to each webhook that matched when it was dispatched", checkDispatch},
	{"ends", "each delivery ends as delivered, dead letter or cancelled, with the right reason", checkEnds},
	{"steps", "a delivery changes its state only as the states of a delivery allow", checkSteps},
	{"changes", "each change of a product, customer or reservation has its event", checkChanges},
	{"replays", "each accepted replay is made", checkReplays},
	{"omitted", "a bulk replay queues each delivery that it selects", checkOmitted},
	{"requests", "each request is explained by a committed event that its webhook matches", checkRequests},
	{"duplicates", "only attempts that were in flight at a fault are repeated", checkDuplicates},
	{"silence", "no attempt of a deleted webhook begins", checkSilence},
	{"turns", "deliveries of a resource to an ordered webhook take turns by position", checkTurns},
	{"arrivals", "an ordered webhook receives the events of a resource by position", checkArrivals},
	{"positions", "positions ascend, one for each event, by version within a resource", checkPositions},
	{"lost positions", "events after a loss have higher positions than the lost ones", checkLostPositions},
	{"no skip", "a list or stream of events skips no event that is committed late", checkSkips},
	{"readers", "a reader of the events reads each one once, by position, also after breaks", checkReaders},
	{"watchers", "an open stream of orders shows each order that changes, in ascending versions", checkWatchers},
	{"plans", "no window starts more first attempts than its plan allows, and each start is counted", checkPlans},
	{"bursts", "deliveries share workflows as COMANDA_BURST says", checkBursts},
	{"attempts", "attempts are numbered without gaps, and fit the delivery and the receiver", checkAttempts},
	{"workflows", "the state of a workflow is that of its delivery", checkWorkflows},
	{"order numbers", "the order numbers of a store have no gaps", checkOrderNumbers},
	{"prices", "an order is the sum of its items", checkPrices},
	{"payments", "payments and refunds of an order add up", checkPayments},
	{"amounts due", "compensations of an order follow from its events", checkDue},
	{"cash-up", "the cash-up sums payments and refunds by day, provider, method, channel and currency", checkCashUps},
	{"stock", "the stock of a product follows from its orders", checkStock},
	{"loyalty", "the points of a customer follow from the ledger and the orders", checkLoyalty},
	{"redemptions", "redeemed points lower the total, and return with a cancellation or a whole refund", checkRedemptions},
	{"analytics", "analytics are the sums of the orders", checkAnalytics},
	{"operations", "an operation is whole or absent, as its response says", checkOperations},
	{"idempotency", "a key makes one order, webhook, bulk replay, reservation or invitation", checkIdempotency},
	{"suspended", "no request of a suspended website succeeds", checkSuspended},
	{"deadlines", "an order that nobody accepts is cancelled at its deadline", checkDeadlines},
	{"responses", "a fault of the infrastructure is answered with 503, never with 500", checkInternal},
	{"mails", "a mail ends as sent, obsolete or withheld by the budget of its own website", checkMails},
	{"tenants", "events, deliveries, attempts and requests stay within their website", checkTenants},
}

// ofDelivery returns a violation that concerns a delivery.
func ofDelivery(d deliveryRow, format string, args ...any) violation {
	v := violation{Text: d.ID + ": " + fmt.Sprintf(format, args...), Event: d.Event, Webhook: d.Webhook}
	if d.EndedAt != nil {
		v.At = *d.EndedAt
	}
	return v
}

// ofOrder returns a violation that concerns an order.
func ofOrder(id, format string, args ...any) violation {
	return violation{Text: fmt.Sprintf(format, args...), Order: id}
}

// disturbed returns the number of faults in a time.
func (h *history) disturbed(begin, end time.Time) (n int) {
	return h.faults(begin, end, func(disturbance) bool { return true })
}

// interrupted returns the number of faults in a time that can interrupt an attempt or its record.
func (h *history) interrupted(begin, end time.Time) (n int) {
	return h.faults(begin, end, func(d disturbance) bool { return !d.Gentle })
}

// faults counts the faults of a kind in a time.
func (h *history) faults(begin, end time.Time, kind func(disturbance) bool) (n int) {
	for _, d := range h.Disturbances {
		if d.Begin.Before(end) && d.End.After(begin) && kind(d) {
			n++
		}
	}
	return n
}

// target identifies a delivery by its event and its webhook.
type target struct{ event, webhook string }

func (d deliveryRow) target() target { return target{d.Event, d.Webhook} }

// requestsByTarget returns the requests of each delivery in the order of their times.
func (h *history) requestsByTarget() map[target][]request {
	all := map[target][]request{}
	for _, r := range h.Requests {
		of := target{r.Event, r.Webhook}
		all[of] = append(all[of], r)
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b request) int { return a.At.Compare(b.At) })
	}
	return all
}

// deliveriesByTarget returns the deliveries.
func (s *state) deliveriesByTarget() map[target]deliveryRow {
	all := map[target]deliveryRow{}
	for _, d := range s.Deliveries {
		all[d.target()] = d
	}
	return all
}

// webhook returns the last version of a webhook.
func (s *state) webhook(id string) (last webhookRow, known bool) {
	versions := s.Webhooks[id]
	if len(versions) == 0 {
		return last, false
	}
	return versions[len(versions)-1], true
}

const testPing = "test.ping"

// sortedEvents returns the events of a store, or of all stores, in the order of the outbox.
func (s *state) sortedEvents(store string) (list []*eventRow) {
	for _, e := range s.Events {
		if e.Type != testPing && (store == "" || e.Store == store) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *eventRow) int { return cmp.Compare(a.Order, b.Order) })
	return list
}

// everyDelivery returns the deliveries in the order of their ids.
func (s *state) everyDelivery() (list []deliveryRow) {
	for _, d := range s.Deliveries {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b deliveryRow) int { return strings.Compare(a.ID, b.ID) })
	return list
}
