package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// book writes a history and a state in which every rule holds. Each call is one transaction.
type book struct {
	h      *history
	s      *state
	number int64
	at     time.Time
}

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newBook() *book {
	return &book{at: noon, h: &history{Seed: 7, Begin: noon, Stores: map[string]string{}}, s: &state{
		Stores: map[string]storeRow{}, Window: time.Minute, Tries: 3,
		Events: map[string]*eventRow{}, Webhooks: map[string][]webhookRow{}, Websites: map[string][]websiteRow{},
		Steps: map[string][]deliveryRow{}, Stocks: map[string][]productRow{}, Deliveries: map[string]deliveryRow{},
		Attempts: map[string][]attemptRow{}, Orders: map[string]orderRow{}, Payments: map[string]paymentRow{},
		Refunds: map[string]refundRow{}, Customers: map[string]customerRow{}, Listed: map[string][]string{},
		Addresses: map[string]addressRow{},
		Erased:    map[string]bool{},
		Asked:     map[string][]replayRow{},
		Workflows: map[string]string{},
	}}
}

// tx returns the next row of the log, which sees all before it. A millisecond passes.
func (b *book) tx() logged {
	b.number++
	b.at = b.at.Add(time.Millisecond)
	xid := uint64(b.number)
	return logged{Number: b.number, At: b.at, XID: xid, Seen: snapshot{least: xid, next: xid}}
}

// open adds a website with a store on the plan STARTER.
func (b *book) open(site string) {
	b.h.Stores[site] = "st_" + site
	b.s.Stores["st_"+site] = storeRow{ID: "st_" + site, Website: "ws_" + site, Timezone: "Europe/Berlin"}
	b.s.Websites["ws_"+site] = []websiteRow{{logged: b.tx(), ID: "ws_" + site, Plan: "STARTER"}}
}

// webhook writes a version of a webhook.
func (b *book) webhook(id, site, ordering string, change func(*webhookRow)) {
	w := webhookRow{
		logged: b.tx(), ID: id, Store: "st_" + site, Events: []string{"*"}, Ordering: ordering, Active: true,
		Version: int64(len(b.s.Webhooks[id]) + 1),
	}
	if change != nil {
		change(&w)
	}
	if w.Version == 1 {
		b.keyed(w.logged, "setup-"+id)
	}
	b.s.Webhooks[id] = append(b.s.Webhooks[id], w)
}

// event commits an event.
func (b *book) event(id, site, kind, resource, data string) *eventRow {
	l := b.tx()
	body := fmt.Sprintf(`{"id":%q,"type":%q,"storeId":"st_%s","data":%s}`, id, kind, site, data)
	e := &eventRow{
		logged: l, ID: id, Order: l.Number, Store: "st_" + site, Type: kind, Resource: resource, Body: &body,
	}
	b.s.Events[id] = e
	return e
}

// dispatch gives an event its position and queues its deliveries.
func (b *book) dispatch(e *eventRow, webhooks ...string) {
	e.Dispatched = b.tx()
	e.Position = 1000 + e.Dispatched.Number
	b.s.Listed[e.Store] = append(b.s.Listed[e.Store], e.ID)
	b.read(e)
	for _, w := range webhooks {
		d := deliveryRow{
			logged: b.tx(), ID: e.ID + "/" + w, Store: e.Store, Event: e.ID, Webhook: w, Status: "queued",
			Queue: b.s.Stores[e.Store].queue(), Resource: e.Resource, Position: e.Position,
			Ordered: b.s.Webhooks[w][0].Ordering == "resource", CreatedAt: b.at,
		}
		d.XID = e.Dispatched.XID
		b.step(d)
	}
}

// read lets the readers of a site read an event. The first event of a site is the one after which they begin.
func (b *book) read(e *eventRow) {
	site, known := e.Store[len("st_"):], false
	for i := range b.h.Readings {
		if r := &b.h.Readings[i]; r.Site == site {
			known = true
			r.Events = append(r.Events, e.ID)
		}
	}
	if !known {
		b.h.Readings = append(b.h.Readings, reading{Site: site, Manner: byStream, After: e.ID},
			reading{Site: site, Manner: byList, After: e.ID})
	}
}

// step writes a state of a delivery.
func (b *book) step(d deliveryRow) {
	b.s.Steps[d.ID] = append(b.s.Steps[d.ID], d)
	b.s.Deliveries[d.ID] = d
}

func (b *book) change(id string, change func(*deliveryRow)) {
	d := b.s.Deliveries[id]
	d.logged = b.tx()
	change(&d)
	b.step(d)
}

// claim starts a delivery, which its window counts.
func (b *book) claim(id string) {
	b.change(id, func(d *deliveryRow) {
		starts := app.PlanWindow(b.at, b.s.Window)
		d.Status, d.CountedIn, d.Generation = "pending", &starts, d.Generation+1
		if len(b.s.Windows) == 0 || b.s.Windows[len(b.s.Windows)-1].Queue != d.Queue {
			b.s.Windows = append(b.s.Windows, windowRow{Queue: d.Queue, StartsAt: starts})
		}
		w := &b.s.Windows[len(b.s.Windows)-1]
		w.Started++
		if d.isReplay() {
			w.ReplayStarted++
		}
	})
}

// post makes a request, to which the receiver responds.
func (b *book) post(id string, code int) {
	d := b.s.Deliveries[id]
	e := b.s.Events[d.Event]
	b.tx()
	header := http.Header{}
	header.Set("X-Webhook-Position", strconv.FormatInt(e.Position, 10))
	header.Set("X-Webhook-Resource", app.EventType(e.Type).Resource(e.Resource))
	b.h.Requests = append(b.h.Requests, request{
		At: b.at, Site: d.Store[len("st_"):], Webhook: d.Webhook, Event: e.ID, Header: header, Body: []byte(*e.Body),
		Status: code, Answered: b.at.Add(time.Millisecond),
	})
}

// attempt makes and records an attempt.
func (b *book) attempt(id string, code int) {
	b.post(id, code)
	b.change(id, func(d *deliveryRow) {
		d.Attempts++
		a := attemptRow{
			ID: fmt.Sprintf("%s/%d", id, d.Attempts), Store: d.Store, Delivery: &d.ID, Webhook: d.Webhook, Event: d.Event,
			Number: d.Attempts, Status: "delivered", StatusCode: code, At: b.at,
		}
		d.Status = "delivered"
		if code/100 != 2 {
			d.Status, a.Status = "retrying", "failed"
			if d.Attempts-d.ScheduleBase == b.s.Tries {
				d.Status, d.Reason, a.Status = "dead_letter", "HTTP 500", "dead_letter"
				b.s.Workflows[app.DeliveryWorkflowID(app.EventID(d.Event), app.SubscriptionID(d.Webhook))] = "dead_letter"
			}
		}
		if d.ended() {
			d.EndedAt = new(b.at)
		}
		b.s.Attempts[id] = append(b.s.Attempts[id], a)
	})
}

// deliver claims a delivery and makes its attempts until one succeeds or none is left.
func (b *book) deliver(id string, codes ...int) {
	b.claim(id)
	for _, code := range codes {
		b.attempt(id, code)
	}
}

// replay queues an ended delivery again.
func (b *book) replay(id, bulk string) {
	b.change(id, func(d *deliveryRow) {
		d.Status, d.Reason, d.Class, d.ScheduleBase, d.Replays = "queued", "", classReplay, d.Attempts, d.Replays+1
		d.Replay = nil
		if bulk != "" {
			d.Replay = &bulk
		}
		delete(b.s.Workflows, app.DeliveryWorkflowID(app.EventID(d.Event), app.SubscriptionID(d.Webhook)))
	})
}

// bulk writes a version of a bulk replay of the delivered deliveries of a webhook.
func (b *book) bulk(id, webhook, status string) {
	l := b.tx()
	if len(b.s.Asked[id]) == 0 {
		b.keyed(l, "setup-"+id)
	}
	b.s.Asked[id] = append(b.s.Asked[id], replayRow{
		logged: l, ID: id, Store: b.s.Webhooks[webhook][0].Store, Webhook: &webhook, Of: "delivered", Status: status,
		From: noon.Add(-time.Hour), To: noon.Add(time.Hour), CreatedAt: b.at,
	})
}

// keyed stores a key in a transaction.
func (b *book) keyed(l logged, key string) { b.s.Keys = append(b.s.Keys, keyRow{logged: l, Key: key}) }

// did adds a confirmed operation.
func (b *book) did(o operation) {
	o.Number = len(b.h.Operations) + 1
	o.Begin, o.End = b.at, b.at.Add(time.Millisecond)
	if o.Result == "" {
		o.Result = done
	}
	b.h.Operations = append(b.h.Operations, o)
}
