package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// A body that is not JSON is refused before the credential is checked.
func TestBodiesThatAreNotJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("[", 20_000)
	for _, path := range []string{"/orders", "/webhooks", "/auth/login", "/deliveries/x/replay"} {
		for body, at := range map[string]string{
			"{": "", "}": "", "nope": "", "{}{}": "", "{} x": "", `{"a":1,}`: "", `{'a':1}`: "", "\xef\xbb\xbf{}": "",
			" ": "", "\x00": "",
			`{"a":01}`: "", `{"a":NaN}`: "", `{"a":"` + "\n" + `"}`: "", `{"a":"` + "\xff" + `"}`: "",
			`{"a":"\ud800"}`: "", `{"a":"\u00"}`: "",
			"{\"\xc3\x28\":1}": "", long: "", long + strings.Repeat("]", 20_000): "",
			`{"url":1,"url":1}`:                  "url",
			`{"a":{"b":[0,{"c":1,"\u0063":2}]}}`: "a.b[1].c",
			`{"a":"x\u0000y"}`:                   "a",
			`{"a":["x","\u0000"]}`:               "a[1]",
			`{"\u0000":1}`:                       "\x00",
		} {
			token := ""
			if at != "" && path != "/auth/login" { // members are checked after the credential
				token = w.tokens["OWNER"]
			}
			a := w.do("POST", path, token, body).refused(app.CodeValidationFailed)
			paths := []string{}
			for _, d := range a.body.Error.Details {
				paths = append(paths, d.Path)
			}
			if strings.Join(paths, "|") != at {
				t.Errorf("%s %.40q: got faults at %q, want %q", path, body, paths, at)
			}
			if len(a.Body.String()) > 1000 {
				t.Errorf("%.40q: got a response of %d bytes, want at most 1000", body, a.Body.Len())
			}
		}
		for _, value := range []string{"", "text/plain", "application/x-www-form-urlencoded",
			"multipart/form-data; boundary=x", "application/json; charset=latin1", "application/json, text/plain",
			"application/jsonx", "text/json", ";",
		} {
			w.do("POST", path, "", `{}`, mediaType(value)).refused(app.CodeUnsupportedMediaType)
		}
		w.do("POST", path, "", `{}`, header("Content-Type", "application/json")).refused(app.CodeUnsupportedMediaType)
		w.do("POST", path, "", `{}`, header("Content-Encoding", "gzip")).refused(app.CodeUnsupportedMediaType)
		w.do("POST", path, "", strings.Repeat(" ", maxBody-2)+"{}", mediaType("application/json; charset=UTF-8"))
		w.do("POST", path, "", strings.Repeat(" ", maxBody-1)+"{}").refused(app.CodePayloadTooLarge)
	}
	for _, path := range []string{"/orders", "/webhooks", "/auth/login"} {
		w.do("POST", path, "", nil).refused(app.CodeValidationFailed)
	}
	// JSON that is not an object passes this step: validation refuses its type.
	for _, body := range []string{"[]", "1", `"x"`, "null", "true"} {
		w.do("POST", "/orders", "", body).refused(app.CodeTokenInvalid)
		a := w.do("POST", "/orders", w.tokens["OWNER"], body).refused(app.CodeValidationFailed, "")
		if got := a.body.Error.Message; got != bodyMustBeObject {
			t.Errorf("%s: got the message %q, want %q", body, got, bodyMustBeObject)
		}
	}
	deep := strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000)
	w.do("POST", "/orders", w.tokens["OWNER"], deep).refused(app.CodeValidationFailed, "")
	for path, want := range map[string]string{
		"/webhooks/": "unknown path; see /docs for the operations", "/webhooks/whk_1": "resource not found",
	} {
		a := w.do("GET", path, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
		if got := a.body.Error.Message; got != want {
			t.Errorf("GET %s: got the message %q, want %q", path, got, want)
		}
	}
	w.do("GET", "/products", w.tokens["OWNER"], `[]`).refused(app.CodeValidationFailed, "")
	w.do("GET", "/products", w.tokens["OWNER"], `{"limit":1}`).refused(app.CodeValidationFailed, "limit")
	w.do("GET", "/products", w.tokens["OWNER"], `x`, mediaType("text/plain")).refused(app.CodeUnsupportedMediaType)
}

// altered returns a copy of a body with changed members; nil removes a member.
func altered(body map[string]any, change map[string]any) map[string]any {
	copied := maps.Clone(body)
	maps.Copy(copied, change)
	maps.DeleteFunc(copied, func(_ string, v any) bool { return v == nil })
	return copied
}

type object = map[string]any

// The error of a long member that occurs twice, or contains NUL, shows its start only.
func TestLongMembersAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	name := strings.Repeat("é", 10_000)
	for fault, body := range map[string]string{
		"twice": `{"` + name + `":1,"` + name + `":1}`, "with NUL": `{"` + name + `":"\u0000"}`,
	} {
		refused := w.do("POST", "/auth/login", "", body).refused(app.CodeValidationFailed, strings.Repeat("é", 100)+"…")
		if n := refused.Body.Len(); n > 1000 {
			t.Errorf("%s: got a response of %d bytes, want at most 1,000", fault, n)
		}
	}
}

func TestBadOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	item := object{"productId": w.stores["own"].product.ID, "quantity": 1}
	address := object{"line1": "1 Road", "city": "Berlin", "country": "DE"}
	items := func(change object) []any { return []any{item, altered(item, change)} }
	customer := func(change object) object { return altered(object{"name": "Ada"}, change) }
	delivery := func(change object) object {
		return object{"fulfillmentType": "DELIVERY", "deliveryAddress": altered(address, change)}
	}
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"no items":            {object{"items": nil}, "items"},
		"an empty list":       {object{"items": []any{}}, "items"},
		"items an object":     {object{"items": object{}}, "items"},
		"an item a string":    {object{"items": []any{item, "x"}}, "items[1]"},
		"an item null":        {object{"items": []any{nil, item}}, "items[0]"},
		"101 items":           {object{"items": make101(item)}, "items"},
		"no product":          {object{"items": items(object{"productId": nil})}, "items[1].productId"},
		"product a number":    {object{"items": items(object{"productId": 7})}, "items[1].productId"},
		"product no id":       {object{"items": items(object{"productId": "' OR 1=1"})}, "items[1].productId"},
		"no quantity":         {object{"items": items(object{"quantity": nil})}, "items[1].quantity"},
		"quantity 0":          {object{"items": items(object{"quantity": 0})}, "items[1].quantity"},
		"quantity -1":         {object{"items": items(object{"quantity": -1})}, "items[1].quantity"},
		"quantity 1000":       {object{"items": items(object{"quantity": 1000})}, "items[1].quantity"},
		"quantity a string":   {object{"items": items(object{"quantity": "1"})}, "items[1].quantity"},
		"quantity a fraction": {object{"items": items(object{"quantity": 1.5})}, "items[1].quantity"},
		"quantity huge":       {object{"items": items(object{"quantity": 1e30})}, "items[1].quantity"},
		"quantity 1.0": {
			object{"items": items(object{"quantity": json.RawMessage("1.0")})}, "items[1].quantity",
		},
		"quantity 1e400": {
			object{"items": items(object{"quantity": json.RawMessage("1e400")})}, "items[1].quantity",
		},
		"quantity true":       {object{"items": items(object{"quantity": true})}, "items[1].quantity"},
		"a price a string":    {object{"items": items(object{"unitPriceMinor": "1"})}, "items[1].unitPriceMinor"},
		"a negative price":    {object{"items": items(object{"unitPriceMinor": -1})}, "items[1].unitPriceMinor"},
		"a price above 10^12": {object{"items": items(object{"unitPriceMinor": 1e12 + 1})}, "items[1].unitPriceMinor"},
		"a negative fee":      {object{"deliveryFeeMinor": -1}, "deliveryFeeMinor"},
		"a fee above 10^12":   {object{"deliveryFeeMinor": 1e12 + 1}, "deliveryFeeMinor"},
		"a fee null":          {object{"deliveryFeeMinor": json.RawMessage("null")}, "deliveryFeeMinor"},
		"a blank channel":     {object{"channel": " "}, "channel"},
		"an empty channel":    {object{"channel": ""}, "channel"},
		"a long channel":      {object{"channel": strings.Repeat("é", 41)}, "channel"},
		"a two-line channel":  {object{"channel": "Uber\nEats"}, "channel"},
		"a tab in a channel":  {object{"channel": "Uber\tEats"}, "channel"},
		"a line separator":    {object{"channel": "Uber\u2028Eats"}, "channel"},
		"a name beside a product": {
			object{"items": items(object{"name": "Fee", "unitPriceMinor": 1})}, "items[1].productId",
		},
		"options beside a name": {
			object{"items": items(object{"productId": nil, "name": "Fee", "unitPriceMinor": 1, "options": []any{}})},
			"items[1].options",
		},
		"a name without a price": {
			object{"items": items(object{"productId": nil, "name": "Fee"})}, "items[1].unitPriceMinor",
		},
		"an empty line name": {
			object{"items": items(object{"productId": nil, "name": "", "unitPriceMinor": 1})}, "items[1].name",
		},
		"a long line name": {
			object{"items": items(object{
				"productId": nil, "name": strings.Repeat("é", 201), "unitPriceMinor": 1,
			})}, "items[1].name",
		},
		"a rate of a product": {object{"items": items(object{"taxRatePpm": 1})}, "items[1].taxRatePpm"},
		"a rate above 100 %": {
			object{"items": items(object{
				"productId": nil, "name": "Fee", "unitPriceMinor": 1, "taxRatePpm": 1_000_001,
			})}, "items[1].taxRatePpm",
		},
		"no fulfillment":      {object{"fulfillmentType": nil}, "fulfillmentType"},
		"unknown fulfillment": {object{"fulfillmentType": "pickup"}, "fulfillmentType"},
		"unknown source":      {object{"source": "FAX"}, "source"},
		"a delivery to nobody": {
			object{"customer": nil, "fulfillmentType": "DELIVERY", "deliveryAddress": address}, "customerId",
		},
		"two customers":     {object{"customerId": "cus_1"}, "customerId"},
		"customer a string": {object{"customer": "Ada"}, "customer"},
		"no name":           {object{"customer": customer(object{"name": nil})}, "customer.name"},
		"a blank name":      {object{"customer": customer(object{"name": " \u00a0\t"})}, "customer.name"},
		"a long name": {
			object{"customer": customer(object{"name": strings.Repeat("é", 201)})}, "customer.name",
		},
		"a bad address":      {object{"customer": customer(object{"email": "ada@"})}, "customer.email"},
		"a number without +": {object{"customer": customer(object{"phone": "4915112345678"})}, "customer.phone"},
		"a number with spaces": {
			object{"customer": customer(object{"phone": "+49 151 12345678"})}, "customer.phone",
		},
		"a number that begins 0": {object{"customer": customer(object{"phone": "+04915112345"})}, "customer.phone"},
		"a number of 16 digits": {
			object{"customer": customer(object{"phone": "+1234567890123456"})}, "customer.phone",
		},
		"a customer's id":         {object{"customer": customer(object{"id": "cus_1"})}, "customer.id"},
		"an unknown customer":     {object{"customer": nil, "customerId": "cus_1"}, "customerId"},
		"an unknown view":         {object{"storeViewId": "view_1"}, "storeViewId"},
		"a foreign view":          {object{"storeViewId": w.stores["foreign"].view.ID}, "storeViewId"},
		"delivery to nowhere":     {object{"fulfillmentType": "DELIVERY"}, "deliveryAddress"},
		"pickup to somewhere":     {object{"deliveryAddress": address}, "deliveryAddress"},
		"no street":               {delivery(object{"line1": nil}), "deliveryAddress.line1"},
		"a blank city":            {delivery(object{"city": " "}), "deliveryAddress.city"},
		"an unknown country":      {delivery(object{"country": "XX"}), "deliveryAddress.country"},
		"a long country":          {delivery(object{"country": "DEU"}), "deliveryAddress.country"},
		"an unknown part":         {delivery(object{"planet": "Mars"}), "deliveryAddress.planet"},
		"a long note there":       {delivery(object{"notes": strings.Repeat("x", 501)}), "deliveryAddress.notes"},
		"a negative discount":     {object{"discountMinor": -1}, "discountMinor"},
		"a discount beyond JSON":  {object{"discountMinor": 1 << 53}, "discountMinor"},
		"a discount beyond int64": {object{"discountMinor": json.RawMessage("9223372036854775808")}, "discountMinor"},
		"too high a discount":     {object{"discountMinor": 951}, "discountMinor"},
		"a total of text":         {object{"expectedTotalMinor": "950"}, "expectedTotalMinor"},
		"a long note":             {object{"note": strings.Repeat("é", 1001)}, "note"},
		"a note null":             {object{"note": json.RawMessage("null")}, "note"},
		"unknown members":         {object{"tip": 1, "Note": "x", "": 2}, `[""]|Note|tip`},
		"a lot of faults": {
			object{
				"items":           []any{object{"productId": "p", "quantity": 0}, object{"quantity": 1, "x": 1}},
				"fulfillmentType": "FLYING", "note": 1, "customer": nil,
			},
			"items[1].x|note|fulfillmentType|items[0].quantity",
		},
	} {
		w.run(name, func(t *testing.T) {
			body := altered(altered(w.orderBody("own"), object{"items": []any{item}}), c.change)
			w.do("POST", "/orders", w.tokens["OWNER"], body).
				refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
		})
	}
	many := object{}
	for i := range 500 {
		many[fmt.Sprint(strings.Repeat("x", 1000), i)] = 1
	}
	if a := w.do("POST", "/orders", w.tokens["OWNER"],
		many).refused(app.CodeValidationFailed); len(a.body.Error.Details) != maxFaults || a.Body.Len() > 20_000 {
		t.Errorf("got %d faults in %d bytes, want %d in at most 20000", len(a.body.Error.Details), a.Body.Len(),
			maxFaults)
	}
	for code, change := range map[app.Code]object{
		app.CodeProductUnavailable: {
			"items": []any{object{"productId": w.stores["foreign"].product.ID, "quantity": 1}},
		},
		app.CodeTotalMismatch: {"expectedTotalMinor": 1},
	} {
		w.do("POST", "/orders", w.tokens["OWNER"], altered(w.orderBody("own"), change)).refused(code)
	}
}

func make101(item any) []any {
	items := make([]any, 101)
	for i := range items {
		items[i] = item
	}
	return items
}

func TestBadWebhooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		change object
		path   string
	}{
		"no url":                {object{"url": nil}, "url"},
		"an empty url":          {object{"url": ""}, "url"},
		"http":                  {object{"url": "http://example.com"}, "url"},
		"HTTP":                  {object{"url": "HTTP://example.com"}, "url"},
		"ftp":                   {object{"url": "ftp://example.com"}, "url"},
		"no scheme":             {object{"url": "example.com/hook"}, "url"},
		"a relative one":        {object{"url": "//example.com/hook"}, "url"},
		"no host":               {object{"url": "https:///hook"}, "url"},
		"a port alone":          {object{"url": "https://:8443/"}, "url"},
		"a user":                {object{"url": "https://user:pw@example.com/"}, "url"},
		"a fragment":            {object{"url": "https://example.com/#a"}, "url"},
		"an empty fragment":     {object{"url": "https://example.com/#"}, "url"},
		"a space":               {object{"url": "https://exa mple.com/"}, "url"},
		"a line break":          {object{"url": "https://example.com/\r\nX: y"}, "url"},
		"opaque":                {object{"url": "https:example.com"}, "url"},
		"a long one":            {object{"url": "https://example.com/" + strings.Repeat("x", 2048)}, "url"},
		"url a number":          {object{"url": 1}, "url"},
		"no events":             {object{"events": nil}, "events"},
		"an empty list":         {object{"events": []any{}}, "events"},
		"an event alone":        {object{"events": "order.created"}, "events"},
		"an unknown event":      {object{"events": []any{"order.created", "order.eaten"}}, "events[1]"},
		"all events and one":    {object{"events": []any{"*", "order.created"}}, "events"},
		"no filter":             {object{"filter": " "}, "filter"},
		"a broken filter":       {object{"filter": "data.total >"}, "filter"},
		"a long filter":         {object{"filter": "data.note == '" + strings.Repeat("a", 1000) + "'"}, "filter"},
		"an unknown ordering":   {object{"ordering": "strict"}, "ordering"},
		"an empty ordering":     {object{"ordering": ""}, "ordering"},
		"an ordering null":      {object{"ordering": json.RawMessage("null")}, "ordering"},
		"an ordering boolean":   {object{"ordering": true}, "ordering"},
		"test.ping":             {object{"events": []any{"test.ping"}}, "events[0]"},
		"an event twice":        {object{"events": []any{"order.created", "order.created"}}, "events"},
		"an event null":         {object{"events": []any{nil}}, "events[0]"},
		"no secret":             {object{"secret": nil}, "secret"},
		"a short secret":        {object{"secret": strings.Repeat("é", 31)}, "secret"},
		"a long secret":         {object{"secret": strings.Repeat("é", 257)}, "secret"},
		"a secret null":         {object{"secret": json.RawMessage("null")}, "secret"},
		"a secret number":       {object{"secret": 12345678901234567}, "secret"},
		"a status":              {object{"isActive": false}, "isActive"},
		"an id":                 {object{"id": "whk_1"}, "id"},
		"a store that is no id": {object{"storeId": "a b"}, "storeId"},
	} {
		w.run(name, func(t *testing.T) {
			a := w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), c.change)).
				refused(app.CodeValidationFailed, c.path)
			if want := "events must have at least 1 element"; name == "an empty list" && a.body.Error.Message != want {
				t.Errorf("got the message %q, want %q", a.body.Error.Message, want)
			}
		})
	}
	for name, change := range map[string]object{
		"secret of 32": {"secret": strings.Repeat("é", 32)}, "secret of 256": {"secret": strings.Repeat("é", 256)},
		"a port":     {"url": "https://example.com:8443/a?b=c"},
		"an address": {"url": "https://192.0.2.1/"}, "IPv6": {"url": "https://[2001:db8::1]/"},
		"upper case": {"url": "HTTPS://EXAMPLE.COM"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", "/webhooks", w.tokens["OWNER"], altered(webhookBody(), change)).ok(201, nil)
		})
	}
}

func TestBadQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attempts := "/webhooks/" + string(w.stores["own"].webhook.ID) + "/deliveries"
	for _, path := range []string{attempts, "/deliveries", "/products"} {
		for query, at := range map[string]string{
			"limit=0": "limit", "limit=101": "limit", "limit=-1": "limit", "limit=": "limit", "limit=x": "limit",
			"limit=1.5": "limit", "limit=1e1": "limit",
			"limit=%2B1": "limit", "limit=0x10": "limit", "limit=1_0": "limit", "limit=99999999999999999999": "limit",
			"limit=1&limit=1": "limit", "limit=1%00": "limit",
			"limit= 1": "limit", "Limit=1": "Limit", "limit=1&sort=name": "sort", "limit[]=1": "limit[]",
			"limit=1;page=2": "", "limit=%": "", "limit=%zz": "",
			"access_token=x": "access_token", "=x": `[""]`, "storeId=a%20b": "storeId",
		} {
			request := path + "?" + strings.ReplaceAll(query, " ", "%20")
			w.do("GET", request, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
		}
	}
	for _, query := range []string{"page=0", "page=-1", "page=999999999999", "page=9223372036854775807",
		"page=9223372036854775808", "page=", "page=x", "page=1&page=2"} {
		w.do("GET", attempts+"?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "page")
	}
	w.do("GET", attempts+"?page=0&limit=0&x=1", w.tokens["OWNER"], nil).
		refused(app.CodeValidationFailed, "x", "page", "limit")
	w.do("GET", attempts+"?page=1000000&limit=100", w.tokens["OWNER"], nil).ok(200, nil)
	for query, at := range map[string]string{
		"isAvailable=1": "isAvailable", "isAvailable=TRUE": "isAvailable", "isAvailable=": "isAvailable",
		"updatedSince=yesterday":  "updatedSince",
		"updatedSince=2026-03-14": "updatedSince", "updatedSince=2026-03-14T12:00:00": "updatedSince",
		"updatedSince=2026-03-14T12:00:00,5Z": "updatedSince",
		"updatedSince=0000-01-01T00:00:00Z":   "updatedSince", "updatedSince=9999-12-31T23:59:59-01:00": "updatedSince",
		"updatedSince=2026-03-14T12:00:00%2B24:00": "updatedSince",
		"updatedSince=2026-03-14T12:00:00%2B01:60": "updatedSince", "updatedSince=1773489600": "updatedSince",
		"q=": "q", "category=": "category", "q=" + strings.Repeat("%C3%A9", 201): "q", "category=%ff": "category",
		"q=a%00": "q", "page=1": "page",
	} {
		w.do("GET", "/products?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
	}
	for query, at := range map[string]string{
		"status=lost": "status", "status=DELIVERED": "status", "eventType=order.eaten": "eventType",
		"webhookId=%27": "webhookId", "reason=": "reason", "reason=%00": "reason", "eventId=": "eventId",
		"from=x": "from",
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z":        "to",
		"from=2026-01-02T00:00:00Z&to=2026-01-02T01:00:00%2B01:00": "to",
	} {
		w.run(query, func(t *testing.T) {
			w.do("GET", "/deliveries?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, at)
		})
	}
	w.do("GET", "/webhooks?limit=1", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "limit")
	w.do("GET", "/webhooks/x?a=b", w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, "a")
	w.do("POST", "/orders?notify=true", w.tokens["OWNER"], w.orderBody("own")).
		refused(app.CodeValidationFailed, "notify")
	w.do("GET", "/products?updatedSince="+url.QueryEscape("2026-03-14T13:00:00.5+01:00"), w.tokens["OWNER"], nil).
		ok(200, nil)
}
