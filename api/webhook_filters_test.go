package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

func TestWebhookFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const large = `data.fulfillmentType == "DELIVERY" && data.totalMinor >= 5000`
	var created, changed app.Subscription
	w.do("POST", "/webhooks", w.tokens["ADMIN"], altered(webhookBody(), object{"filter": large})).ok(201, &created)
	if created.Filter == nil || *created.Filter != large {
		t.Errorf("created webhook: got %+v, want the filter", created)
	}
	path := "/webhooks/" + string(created.ID)
	w.do("PATCH", path, w.tokens["ADMIN"], object{"description": "Till"}).ok(200, &changed)
	if changed.Filter == nil || *changed.Filter != large {
		t.Errorf("webhook after another change: got %+v, want the filter", changed)
	}
	const missing = `line 1, column 5: undefined field 'total'`
	a := w.do("PATCH", path, w.tokens["ADMIN"], object{"filter": "data.total > 1"}).
		refused(app.CodeValidationFailed, "filter")
	if got := a.body.Error.Details[0].Message; got != missing {
		t.Errorf("error of a filter: got %q, want %q", got, missing)
	}
	w.do("PATCH", path, w.tokens["ADMIN"], object{"filter": nil}).ok(200, &changed)
	if changed.Filter != nil {
		t.Errorf("webhook without filter: got %+v", changed)
	}
}

func TestFilterTest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	order, foreign := own.delivery.EventID, w.stores["foreign"].delivery.EventID
	test := func(expression string, ids ...app.EventID) *response {
		t.Helper()
		return w.do("POST", "/webhooks/filter-test", w.tokens["ADMIN"], object{"filter": expression, "eventIds": ids})
	}
	var got filterTest
	for expression, want := range map[string]filterResult{
		`type == "order.created"`: {EventID: order, Matches: true},
		`data.totalMinor < 0`:     {EventID: order},
		`data.refundId == "x"`:    {EventID: order, Matches: true, Error: "no such key: refundId"},
	} {
		got = filterTest{}
		test(expression, order).ok(200, &got)
		if diff := cmp.Diff([]filterResult{want}, got.Results); diff != "" {
			t.Errorf("results of %s (-want +got):\n%s", expression, diff)
		}
	}
	test("true", order, "evt_unknown").refused(app.CodeNotFound)
	test("true", foreign).refused(app.CodeNotFound)
	test("true").refused(app.CodeValidationFailed, "eventIds")
	test("true", order, order).refused(app.CodeValidationFailed, "eventIds")
	test("data.total > 1", order).refused(app.CodeValidationFailed, "filter")
	w.exec("UPDATE outbox SET body = NULL WHERE id = $1", order)
	got = filterTest{}
	test("false", order).ok(200, &got)
	if want := (filterResult{order, true, "the body of the event was erased"}); got.Results[0] != want {
		t.Errorf("result of an erased event: got %+v, want %+v", got.Results[0], want)
	}
}

// Expressions can use the members of all event types, and evaluate for the examples of their own.
func TestFiltersOfEveryEventType(t *testing.T) {
	t.Parallel()
	all, err := allEventTypes()
	must(err)
	for _, expression := range []string{
		`type.startsWith("payment.") && has(data.amountMinor) ? data.amountMinor > 0 : true`,
		`!has(data.totalMinor) || data.totalMinor >= 0`,
		`!has(data.customer) || data.customer.id != "cus_1"`,
		`!has(data.status) || data.status in ["RECEIVED", "PENDING", "CONFIRMED"] || true`,
		`!has(data.items) || data.items.all(i, i.quantity > 0 && i.unitPriceMinor >= 0.5)`,
		`!has(data.prices) || "USD" in data.prices || true`,
		`!has(data.requestedFor) || data.requestedFor == null || data.requestedFor > "2026"`,
		`!has(data.partySize) || data.partySize < 100`,
		// The dashboard builds these.
		`!type.startsWith("order.") || data.channel == null`,
		`!type.startsWith("order.") || data.channel in ["\"Größe 🍕\" \\ \u001f\t &&", null] && true`,
	} {
		if details := checkFilter(expression); details != nil {
			t.Errorf("%s: got %v", expression, details)
			continue
		}
		compiled, err := filter.Compile(expression)
		must(err)
		for _, entry := range all {
			data, err := filter.Data(entry.Example)
			must(err)
			if matches, _, err := compiled.Matches(t.Context(), string(entry.Name), data); err != nil || !matches {
				t.Errorf("%s for %s: got %v, %v, want true", expression, entry.Name, matches, err)
			}
		}
	}
	if details := checkFilter("data.message == 'This is a test.'"); details == nil {
		t.Error("a member of test.ping: got no error")
	}
}

// costlyEvents inserts events with an order of 1,000 items, and returns a filter that exceeds the limit of the cost for
// each of them.
func (w *world) costlyEvents(store app.StoreID, n int) (ids []app.EventID, costly string) {
	w.Helper()
	items := strings.Repeat(`{"quantity": 1},`, 999) + `{"quantity": 1}`
	for i := range n {
		ids = append(ids, app.EventID(fmt.Sprintf("evt_costly%d", i)))
		w.exec("INSERT INTO outbox (id, store_id, type, body, occurred_at) VALUES ($1, $2, 'order.created', $3, $4)",
			ids[i], store, `{"data": {"items": [`+items+`]}}`, noon)
	}
	return ids, "data.items.all(i, data.items.all(j, i.quantity + j.quantity > 0))"
}

// A website that tests many filters does not delay the tests of others: the turns of the others come after its first
// one, though they came last.
func TestFilterTestsTakeTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turns := &w.server.filterTests
	must(turns.Take(t.Context(), "other"))
	hostile := int(w.server.work.requests) // more of its tests wait for its work in progress, and for no turn
	if hostile < 2 {
		t.Fatalf("requests of a website in progress: got %d, want at least 2", hostile)
	}
	tested := make(chan string, hostile+1)
	queued := 0
	test := func(website, token string, id app.EventID) {
		t.Helper()
		go func() {
			body := object{"filter": "true", "eventIds": []app.EventID{id}}
			a := w.do("POST", "/webhooks/filter-test", token, body)
			tested <- fmt.Sprint(website, " ", a.Code)
		}()
		queued++
		w.until("test that waits for its turn", func() bool { return turns.Waiting() == queued })
	}
	for range hostile {
		test("hostile", w.tokens["ADMIN"], w.stores["own"].delivery.EventID)
	}
	test("quiet", w.tokens["FOREIGN"], w.stores["foreign"].delivery.EventID)
	turn := make(chan error, 1)
	go func() { turn <- turns.Take(t.Context(), "other") }()
	w.until("other website that waits for its turn", func() bool { return turns.Waiting() == queued+1 })
	turns.Give("other", 0)
	must(<-turn)
	// The other website holds its turn, so that no more tests of the hostile one end.
	if n := turns.Waiting(); n != hostile-1 {
		t.Errorf("hostile tests after the turns of the others: got %d, want %d", n, hostile-1)
	}
	first := []string{<-tested, <-tested}
	slices.Sort(first)
	if diff := cmp.Diff([]string{"hostile 200", "quiet 200"}, first); diff != "" {
		t.Errorf("first responses (-want +got):\n%s", diff)
	}
	turns.Give("other", 0)
	for range hostile - 1 {
		if got := <-tested; got != "hostile 200" {
			t.Errorf("later response: got %q, want hostile 200", got)
		}
	}
}

// A test of a costly filter ends after the cost of one evaluation, also with many events.
func TestCostlyFilterTest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids, costly := w.costlyEvents(w.stores["own"].id, 3)
	var got filterTest
	w.do("POST", "/webhooks/filter-test", w.tokens["ADMIN"], object{"filter": costly, "eventIds": ids}).ok(200, &got)
	w.exec("DELETE FROM outbox WHERE id = ANY ($1)", ids) // they differ from their schema
	for i, r := range got.Results {
		want := []string{"the filter is too costly for more events of one test; test fewer events"}
		if i == 0 { // on a slow machine, the limit of time ends the evaluation
			want = []string{"the cost of the evaluation exceeds 1000000 units", "the evaluation takes too long"}
		}
		if !r.Matches || !slices.Contains(want, r.Error) {
			t.Errorf("result %d: got %+v, want an error of %q", i, r, want)
		}
	}
	if len(got.Results) != len(ids) {
		t.Errorf("got %d results, want %d", len(got.Results), len(ids))
	}
}

// A test that waits for its turn holds no bodies of events: each one is read in the turn that evaluates it.
func TestFilterTestReadsBodiesInItsTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turns := &w.server.filterTests
	must(turns.Take(t.Context(), "other"))
	id := w.stores["own"].delivery.EventID
	tested := make(chan *response)
	go func() {
		tested <- w.do("POST", "/webhooks/filter-test", w.tokens["ADMIN"],
			object{"filter": "false", "eventIds": []app.EventID{id}})
	}()
	w.until("test that waits for its turn", func() bool { return turns.Waiting() == 1 })
	w.exec("UPDATE outbox SET body = NULL WHERE id = $1", id)
	turns.Give("other", 0)
	var got filterTest
	(<-tested).ok(200, &got)
	want := []filterResult{{id, true, "the body of the event was erased"}}
	if diff := cmp.Diff(want, got.Results); diff != "" {
		t.Errorf("results after an erasure during the wait (-want +got):\n%s", diff)
	}
}
