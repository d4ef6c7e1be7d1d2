package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// numbers returns the numbers of the listed orders.
func (w *world) numbers(path, token string) string {
	w.Helper()
	var page []orderOut
	w.do("GET", path, token, nil).ok(200, &page)
	list := []string{}
	for _, order := range page {
		list = append(list, order.Number)
	}
	return strings.Join(list, " ")
}

// addOrders adds the orders 2 to 9 to the store own, a minute apart. Order 1 exists already.
func (w *world) addOrders() (customer loginCustomerOut) {
	w.Helper()
	customer = w.addCustomer("own", "grace@example.com")
	person := func(name, email, phone string) object {
		return object{"customer": altered(object{"name": name}, object{"email": email, "phone": phone})}
	}
	orders := []object{
		person("Ada Lovelace", "ADA@example.com", "+4915112345678"),
		person("Émile Zola", "zola@example.com", "+33123456789"),
		person("山田 太郎", "yamada@example.jp", "+81312345678"),
		{"customer": nil, "customerId": customer.Customer.ID},
		altered(delivery(), object{"source": "WEB"}),
		{"source": "PHONE", "fulfillmentType": "DINE_IN"},
		person("100% Ada_", "x_y@example.com", "+4915199999999"),
		{"customer": nil, "customerId": customer.Customer.ID, "source": "API"},
	}
	for i, change := range orders {
		w.now = noon.Add(time.Duration(i+1) * time.Minute)
		placed, path := w.place(change)
		if placed.Number != fmt.Sprint(i+2) {
			w.Fatalf("order number: got %s, want %d", placed.Number, i+2)
		}
		switch placed.Number {
		case "3":
			w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("CONFIRMED")).ok(200, nil)
		case "4", "5":
			w.do("PATCH", path+"/status", w.tokens["OWNER"], statusBody("CANCELLED")).ok(200, nil)
		}
	}
	_, err := w.db.System().DB.ExecContext(w.Context(),
		`UPDATE orders SET paid_minor = 500 WHERE number IN (2, 4);
		UPDATE orders SET paid_minor = 500, refunded_minor = 500 WHERE number = 5`)
	w.must(err)
	_, err = w.db.System().DB.ExecContext(w.Context(),
		"UPDATE orders SET business_date = '2026-03-13' WHERE number IN (2, 3)")
	w.must(err)
	w.now = noon.Add(10 * time.Minute)
	w.do("PATCH", "/orders/"+string(w.stores["own"].order.ID)+"/status", w.tokens["OWNER"], statusBody("READY")).
		ok(200, nil)
	return customer
}

func TestOrderFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := w.addOrders()
	const all = "9 8 7 6 5 4 3 2 1"
	for query, want := range map[string]string{
		"": all, "status=CANCELLED": "5 4", "status=CONFIRMED&status=READY": "3 1", "status=COMPLETED": "",
		"fulfillmentType=DELIVERY": "6", "fulfillmentType=DINE_IN": "7", "source=WEB": "6", "source=PHONE": "7 1",
		"source=API": "9",
		"customerId=" + string(customer.Customer.ID): "9 5", "customerId=cus_none": "", "orderId=4": "4",
		"orderId=10": "", "orderId=9223372036854775807": "",
		"createdFrom=2026-03-14T12:07:00Z": "9 8", "createdTo=2026-03-14T12:01:00Z": "1",
		"createdFrom=2026-03-14T13:01:00%2B01:00&createdTo=2026-03-14T12:03:00Z": "3 2",
		"businessDate=2026-03-13": "3 2", "businessDate=0001-01-01": "", "updatedSince=2026-03-14T12:10:00Z": "1",
		"updatedSince=2026-03-14T12:10:00.001Z": "",
		"needsRefund=true":                      "4", "needsRefund=false": "9 8 7 6 5 3 2 1",
		"needsRefund=true&status=CONFIRMED":  "",
		"status=CANCELLED&needsRefund=false": "5",
		"q=ada":                              "9 8 7 6 5 2 1", "q=ADA+LOVE": "9 5 2", "q=lovelace": "9 5 2",
		"q=love": "9 5 2", "q=elace": "",
		"q=émi": "3", "q=ÉMILE": "3", "q=zola@": "3", "q=Ada@Example": "2",
		"q=山田": "4", "q=太": "4", "q=%2B4915": "8 2", "q=4915": "8 2", "q=7": "7", "q=00007": "7", "q=%25": "",
		"q=_": "", "q=100%25": "8", "q=x_y": "8", "q=x%25": "",
		"q=grace&customerId=" + string(customer.Customer.ID): "9 5", "q='+OR+1=1+--": "", "q=%5C": "",
		"q=99999999999999999999999": "", "q=-1": "", "q=ada&status=RECEIVED&orderId=2": "2",
	} {
		w.run("?"+query, func(t *testing.T) {
			query = strings.NewReplacer("é", "%C3%A9", "É", "%C3%89", "山田", url.QueryEscape("山田"), "太",
				url.QueryEscape("太")).Replace(query)
			if got := w.numbers("/orders?"+query, w.tokens["STAFF"]); got != want {
				t.Errorf("orders: got %q, want %q", got, want)
			}
		})
	}
	for query, at := range map[string]string{
		"status=": "status", "status=EATEN": "status[0]", "status=READY&status=ready": "status[1]",
		"status=READY&status=READY": "status", "status=READY&status=": "status",
		"fulfillmentType=FLYING": "fulfillmentType", "source=FAX": "source", "customerId=%27": "customerId",
		"orderId=0": "orderId", "orderId=-1": "orderId",
		"orderId=x": "orderId", "orderId=9223372036854775808": "orderId", "createdFrom=now": "createdFrom",
		"createdTo=2026-03-14": "createdTo",
		"createdFrom=2026-03-14T12:00:00Z&createdTo=2026-03-14T12:00:00Z": "createdTo",
		"businessDate=2026-02-30": "businessDate", "businessDate=0000-01-01": "businessDate",
		"businessDate=14.3.2026": "businessDate", "updatedSince=1": "updatedSince", "needsRefund=yes": "needsRefund",
		"q=": "q", "q=%00": "q", "q=%ff": "q",
		"q=" + strings.Repeat("%C3%A9", 201): "q", "limit=0": "limit", "limit=101": "limit", "cursor=x": "cursor",
		"page=1": "page", "sort=total": "sort",
		"customerId=a&customerId=b": "customerId", "storeId=a%20b": "storeId",
	} {
		w.do("GET", "/orders?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
	}
}

func TestOrdersInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addOrders()
	w.now = noon.Add(time.Minute)
	for range 3 { // in the same millisecond as number 2
		w.place(nil)
	}
	for _, filter := range []string{"", "status=RECEIVED&status=CONFIRMED", "q=ada"} {
		var all []orderOut
		w.do("GET", "/orders?limit=100&"+filter, w.tokens["STAFF"], nil).ok(200, &all)
		for limit := 1; limit <= len(all); limit++ {
			var pages []orderOut
			for cursor := ""; ; {
				var page []orderOut
				a := w.do("GET", fmt.Sprintf("/orders?limit=%d&%s%s", limit, filter, cursor), w.tokens["STAFF"], nil).
					ok(200, &page)
				pages = append(pages, page...)
				next, more := a.body.Meta["nextCursor"].(string)
				if !more {
					break
				}
				cursor = "&cursor=" + next
			}
			if diff := cmp.Diff(all, pages); diff != "" || len(all) < 4 {
				t.Errorf("%q in pages of %d, want at least 4 orders (-want +got):\n%s", filter, limit, diff)
			}
		}
	}
}

// Customers list only their own orders, with any filter.
func TestCustomersListTheirOwnOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	grace := w.addOrders()
	other := w.addCustomer("own", "ada@example.com")
	for query, want := range map[string]string{
		"": "9 5", "status=CANCELLED": "5", "q=ada": "9 5", "orderId=2": "", "q=2": "",
		"customerId=" + string(other.Customer.ID): "",
	} {
		w.run("?"+query, func(t *testing.T) {
			if got := w.numbers("/orders?"+query, grace.AccessToken); got != want {
				t.Errorf("orders: got %q, want %q", got, want)
			}
			if got := w.numbers("/orders?"+query, other.AccessToken); got != "" {
				t.Errorf("orders for another customer: got %q, want none", got)
			}
		})
	}
	cursor := w.do("GET", "/orders?limit=1", grace.AccessToken, nil).ok(200, nil).body.Meta["nextCursor"].(string)
	if got := w.numbers("/orders?cursor="+cursor, other.AccessToken); got != "" {
		t.Errorf("orders with the cursor of another customer: got %q, want none", got)
	}
	var page []orderOut
	w.do("GET", "/orders", grace.AccessToken, nil).ok(200, &page)
	if len(page[0].AllowedTransitions) != 0 || *page[0].Customer.ID != grace.Customer.ID {
		t.Errorf("order: got %+v, want one of %s without transitions", page[0], grace.Customer.ID)
	}
}
