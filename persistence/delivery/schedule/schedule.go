// Package schedule decides which queued deliveries start (docs/behaviour.md#plan-rate). It uses no database, no clock
// and no random numbers: facts about the queues, limits and the time are arguments, and claims are the result. Each
// rule is one function.
package schedule

import (
	"cmp"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Class is the kind of a queued delivery.
type Class int

// The classes of deliveries.
const (
	First    Class = iota // the first delivery of an event that is not a customer.* event
	Customer              // the first delivery of a customer.* event
	Replay
	Classes // number of classes
)

// Facts are the parts of the queues that one claim has read.
type Facts struct {
	Queues []Queue
	Unread bool // other queues, or subscriptions of these queues, contain deliveries
}

// Queue is the queue of a website or of a sandbox. The sandboxes of a website share the turns of a website.
type Queue struct {
	ID            string
	Window        Window // of its plan
	Scarce        bool   // more deliveries are queued than the window has free starts
	Subscriptions []Subscription
}

// website returns the part of the id that names the website, or all its sandboxes.
func (q *Queue) website() string {
	website, _, _ := strings.Cut(q.ID, ":")
	return website
}

// Subscription is an active subscription with queued deliveries.
type Subscription struct {
	ID             app.SubscriptionID
	Healthy, Quick bool // see app.Claim

	Pending int // deliveries in progress
	Young   int // of these, the deliveries that were claimed within the interval of Limits.SlowPace
	// Responses are the recent attempts, as far as they were read. Prompt of them took less time than a receiver needs
	// that handles requests one after another.
	Responses, Prompt int

	// Queued are the oldest deliveries of each class, oldest first. At most Read of each class were read.
	Queued [Classes][]Delivery
	Read   int

	// Tie orders subscriptions whose turn is the same. A random number makes them equal over many claims.
	Tie uint64
}

// prompt reports whether the subscription uses the fast lane. Other subscriptions delay only each other.
func (s *Subscription) prompt() bool { return s.Healthy && s.Quick }

// Delivery is a queued delivery.
type Delivery struct {
	ID       app.DeliveryID
	Event    app.EventID
	Position int64     // of the event in its store
	Resource string    // whose deliveries to the subscription start one at a time; "" = none
	Due      time.Time // earliest start
}

// older orders deliveries by age. All rules about age use it.
func older(a, b Delivery) int {
	return cmp.Or(compare(a.Position, b.Position), compare(a.Event, b.Event))
}

// Limits bound the claims of one decision.
type Limits struct {
	app.ClaimLimits
	PromptGrowth int // pending deliveries that a prompt response to a healthy, quick subscription allows
	SlowPace     int // deliveries per second of a slow subscription, in addition to half of its recent responses
}

// Decision is the result of Decide.
type Decision struct {
	Claims []Claim       // in the order in which they should start
	More   bool          // more deliveries may start in the current windows
	Waited time.Duration // longest time that a first delivery to a healthy, quick subscription has waited
}

// Claim is a delivery that may start.
type Claim struct {
	Delivery
	Class        Class
	Queue        *Queue
	Subscription *Subscription
	Burst        int // number of the burst that contains the delivery; 0 = none
}

// Decide returns the deliveries that start at now.
func Decide(now time.Time, facts Facts, limits Limits) Decision {
	decision := Decision{More: facts.Unread}
	var ready []start
	for i := range facts.Queues {
		starts, more := facts.Queues[i].starts(limits)
		takeTurns(starts)
		ready = append(ready, starts...)
		decision.More = decision.More || more
	}
	byTurn(ready) // queues of a website take the turns of the website in turn
	takeTurns(ready)
	waiting, waited := firstDeliveries(now, ready)
	bursting := limits.bursting(waiting, waited)
	batch := oneOfResource(limits.batch(ready, bursting))
	decision.Waited, decision.More = waited, decision.More || len(batch) < len(ready)
	if bursting {
		limits.groupBursts(batch)
	}
	for _, s := range batch {
		decision.Claims = append(decision.Claims, Claim{s.Delivery, s.class, s.queue, s.subscription, s.burst})
	}
	return decision
}
