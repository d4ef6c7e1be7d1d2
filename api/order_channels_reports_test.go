package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// channelShown is the part of an order that a channel determines.
type channelShown struct {
	Channel          *string
	Version          int64
	DeliveryFeeMinor int64
	SubtotalMinor    int64
	TotalMinor       int64
	Items            []struct {
		ProductID      *app.ProductID
		ProductName    string
		UnitPriceMinor int64
	}
}

// Every report, export and stream shows a changed order of a channel as it is after the change.
func TestChannelOrderIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, customer := w.pricing(), w.addCustomer("own", "grace@example.com")
	stream := w.watch(w.streamsOn(func(*Server) {}), w.tokens["STAFF"])
	w.now = w.now.Add(time.Second)
	var placed, amended orderOut
	w.do("POST", "/orders", key, altered(w.channelBody(), object{
		"customer": nil, "customerId": customer.Customer.ID, "externalId": "UE-1",
	})).ok(201, &placed)
	w.now = w.now.Add(time.Second)
	w.amend(placed, key, object{"deliveryFeeMinor": 100, "items": []any{
		kept(placed.Items[0], object{"unitPriceMinor": 1000}),
		kept(placed.Items[1], object{"name": "Cup", "quantity": 1}),
	}}).ok(200, &amended)
	path := "/orders/" + string(placed.ID)
	for version := range 2 {
		want := orderEvent{ID: placed.ID, Number: placed.Number, Status: app.OrderReceived, Version: int64(version + 1)}
		if got := stream.order(); got != want {
			t.Errorf("stream: got %+v, want %+v", got, want)
		}
	}
	shown := map[string]channelShown{}
	add := func(what string, data []byte) {
		t.Helper()
		var one channelShown
		w.read(data, &one)
		shown[what] = one
	}
	get := func(token, path string) []byte {
		t.Helper()
		return w.do("GET", path, token, nil).ok(200, nil).body.Data
	}
	first := func(data []byte) json.RawMessage {
		t.Helper()
		var list []json.RawMessage
		if w.read(data, &list); len(list) != 1 {
			t.Fatalf("got %d orders, want 1: %s", len(list), data)
		}
		return list[0]
	}
	add("order", get(w.tokens["STAFF"], path))
	add("list", first(get(w.tokens["STAFF"], "/orders?externalId=UE-1")))
	add("changed since", first(get(key, "/orders?updatedSince="+amended.UpdatedAt.String())))
	add("own order", get(customer.AccessToken, path))
	add("own orders", first(get(customer.AccessToken, "/orders")))
	var export struct{ Orders json.RawMessage }
	w.read(get(customer.AccessToken, "/customers/"+string(customer.Customer.ID)+"/export"), &export)
	add("export", first(export.Orders))
	add("event", w.eventData("own", app.EventOrderUpdated)[0])
	w.dispatch()
	for _, event := range w.listedEvents(url.Values{}) {
		if event.Type == app.EventOrderUpdated {
			var body struct {
				Body struct{ Data json.RawMessage }
			}
			w.read(get(w.tokens["OWNER"], "/events/"+string(event.ID)), &body)
			add("listed event", body.Body.Data)
		}
	}
	want := shown["order"]
	if want.Channel == nil || *want.Channel != "Uber Eats" || want.Version != 2 || want.DeliveryFeeMinor != 100 ||
		want.SubtotalMinor != 2010 || want.TotalMinor != 2110 || len(want.Items) != 2 ||
		want.Items[1].ProductID != nil || want.Items[1].ProductName != "Cup" {
		t.Errorf("got %+v, want version 2 of Uber Eats with a fee of 100 and a total of 2110", want)
	}
	for what, got := range shown {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-order +got):\n%s", what, diff)
		}
	}
	if len(shown) != 8 {
		t.Errorf("compared %d places, want 8", len(shown))
	}
	w.checkChannelReports(path)
}

// checkChannelReports checks the history, the changes since a version and the analytics of the test above.
func (w *world) checkChannelReports(path string) {
	w.Helper()
	owner := w.token("OWNER", w.stores["own"].id)
	var history []app.OrderChange
	w.do("GET", path+"/history", owner, nil).ok(200, &history)
	var changes app.OrderItemChanges
	w.do("GET", path+"/changes?since=1", owner, nil).ok(200, &changes)
	fields := history[len(history)-1].ChangedFields
	if diff := cmp.Diff([]string{"items", "deliveryFeeMinor"}, fields); diff != "" || len(changes.ItemChanges) != 3 {
		w.Errorf("got %d changes of items, want 3; fields of the history (-want +got): %s", len(changes.ItemChanges),
			diff)
	}
	pizza := w.stores["own"].product
	const day = "?from=2026-03-14&to=2026-03-14"
	var products []app.ProductSales
	w.do("GET", "/analytics/products"+day, owner, nil).ok(200, &products)
	wantProducts := []app.ProductSales{
		{ProductID: &pizza.ID, ProductName: pizza.Name, Currency: "EUR", Quantity: 4, NetMinor: 3900},
		{Currency: "EUR", Quantity: 1, NetMinor: 10},
	}
	if diff := cmp.Diff(wantProducts, products); diff != "" {
		w.Errorf("products (-want +got):\n%s", diff)
	}
	var page []app.ProductSales
	a := w.do("GET", "/analytics/products"+day+"&limit=1", owner, nil).ok(200, &page)
	w.do("GET", fmt.Sprint("/analytics/products", day, "&limit=1&cursor=", a.body.Meta["nextCursor"]), owner, nil).
		ok(200, &page)
	if diff := cmp.Diff(wantProducts[1:], page); diff != "" {
		w.Errorf("second page of products (-want +got):\n%s", diff)
	}
	var channels []app.ChannelSales
	w.do("GET", "/analytics/channels"+day, owner, nil).ok(200, &channels)
	var uber app.ChannelSales
	for _, row := range channels {
		if row.Channel != nil {
			uber = row
		}
	}
	if len(channels) != 2 || uber.NetMinor != 2010 || uber.DeliveryFeeMinor != 100 || uber.ItemsSold != 3 {
		w.Errorf("got channels %+v, want Uber Eats with net 2010, fee 100 and 3 items", channels)
	}
}

// Filters of webhooks can select a channel and lines without a product.
func TestFiltersOfChannels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.pricing()
	var uber, own orderOut
	w.do("POST", "/orders", key, w.channelBody()).ok(201, &uber)
	w.do("POST", "/orders", w.tokens["STAFF"], w.orderBody("own")).ok(201, &own)
	w.amend(uber, key, object{"deliveryFeeMinor": 1}).ok(200, nil)
	w.dispatch()
	ids := w.eventIDs(uber.ID)
	ids = append(ids, w.eventIDs(own.ID)...)
	ids = append(ids, app.EventID(w.text(`SELECT id FROM outbox WHERE type = 'order.updated'`)))
	for expression, want := range map[string][]bool{
		`data.channel == "Uber Eats"`:                             {true, false, true},
		`data.channel != null && data.channel.startsWith("Uber")`: {true, false, true},
		`data.channel == null`:                                    {false, true, false},
		`data.items.exists(i, i.productId == null)`:               {true, false, true},
		`data.deliveryFeeMinor > 300`:                             {true, false, false},
	} {
		w.do("POST", "/webhooks", w.tokens["ADMIN"], altered(webhookBody(), object{"filter": expression})).ok(201, nil)
		var got filterTest
		w.do("POST", "/webhooks/filter-test", w.tokens["ADMIN"], object{"filter": expression, "eventIds": ids}).
			ok(200, &got)
		for i, result := range got.Results {
			if result.Matches != want[i] || result.Error != "" {
				t.Errorf("%s: got %+v for event %d, want %t", expression, result, i, want[i])
			}
		}
		if len(got.Results) != 3 {
			t.Errorf("%s: got %d results, want 3", expression, len(got.Results))
		}
	}
}
