package comanda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// service responds to each request with the next of its responses, and records the requests.
type service struct {
	*httptest.Server
	t *testing.T

	mu        sync.Mutex
	responses []http.HandlerFunc
	requests  []recorded
}

type recorded struct {
	line, key, authorization, body string
}

func newService(t *testing.T, responses ...http.HandlerFunc) *service {
	t.Helper()
	s := &service{t: t, responses: responses}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, recorded{
		r.Method + " " + r.RequestURI, r.Header.Get("Idempotency-Key"), r.Header.Get("Authorization"), string(body),
	})
	s.mu.Unlock()
	if n >= len(s.responses) {
		s.t.Errorf("unexpected request %d: %s %s", n+1, r.Method, r.RequestURI)
		http.Error(w, "unexpected", http.StatusTeapot) // clients do not repeat a request that is refused like this
		return
	}
	s.responses[n](w, r)
}

// client returns a client of the service that records its waits instead of waiting.
func (s *service) client(config Config) (*Client, *[]time.Duration) {
	s.t.Helper()
	config.HTTP = s.Client()
	c, err := New(s.URL, config)
	if err != nil {
		s.t.Fatal(err)
	}
	var waits []time.Duration
	c.wait = func(ctx context.Context, d time.Duration) error {
		waits = append(waits, d)
		return ctx.Err()
	}
	c.jitter = func() float64 { return 0.5 }
	return c, &waits
}

// respond responds with the data of a success.
func respond(status int, data string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"success":true,"data":%s}`, data)
	}
}

// refuse responds with an error. headers are names and values.
func refuse(status int, code string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		const body = `{"success":false,"error":{"statusCode":%d,"code":%q,"message":"no","requestId":"req_1"}}`
		fmt.Fprintf(w, body, status, code)
	}
}

// hangUp reads the request and closes the connection.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func place(c *Client) error {
	_, err := c.PlaceOrder(context.Background(), PlaceOrderRequest{FulfillmentType: FulfillmentTypePickup})
	return err
}

func get(c *Client) error {
	_, err := c.GetOrder(context.Background(), "ord_1")
	return err
}

func quote(c *Client) error {
	_, err := c.QuoteOrder(context.Background(), PlaceOrderRequest{})
	return err
}

func change(c *Client) error {
	_, err := c.UpdateOrderStatus(context.Background(), "ord_1", ChangeOrderStatusRequest{Status: OrderStatusReady})
	return err
}

func ping(c *Client) error {
	_, err := c.TestWebhook(context.Background(), "whk_1")
	return err
}

func TestRepetitions(t *testing.T) {
	t.Parallel()
	ok := respond(200, `{}`)
	busy := refuse(429, "RATE_LIMITED", "Retry-After", "7")
	away := refuse(503, "UNAVAILABLE", "Retry-After", "2")
	const first, second = 750 * time.Millisecond, 1500 * time.Millisecond
	empty := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) }
	html := func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }
	dated := refuse(429, "RATE_LIMITED", "Date", "Sat, 14 Mar 2026 18:30:00 GMT",
		"Retry-After", "Sat, 14 Mar 2026 18:30:03 GMT")
	long := refuse(429, "RATE_LIMITED", "Retry-After", "31")
	inUse := refuse(409, "IDEMPOTENCY_KEY_IN_USE", "Retry-After", "1")
	elsewhere := http.RedirectHandler("/other", 307).ServeHTTP
	for name, test := range map[string]struct {
		call      func(*Client) error
		responses []http.HandlerFunc
		waits     []time.Duration
		want      ErrorCode // "" = success, or an error without a code
		fails     bool
	}{
		"429 of a read":               {get, handlers(busy, ok), seconds(7), "", false},
		"429 of a change":             {change, handlers(busy, ok), seconds(7), "", false},
		"429 without end":             {get, handlers(busy, busy, busy), seconds(7, 7), "RATE_LIMITED", true},
		"429 with a long Retry-After": {get, handlers(long), nil, "RATE_LIMITED", true},
		"429 until a date":            {get, handlers(dated, ok), seconds(3), "", false},
		"503 of a read":               {get, handlers(away, ok), seconds(2), "", false},
		"503 of a quote":              {quote, handlers(away, ok), seconds(2), "", false},
		"503 with a key":              {place, handlers(away, ok), seconds(2), "", false},
		"503 of a change":             {change, handlers(away), nil, "UNAVAILABLE", true},
		"503 of an action":            {ping, handlers(away), nil, "UNAVAILABLE", true},
		"502 without body":            {get, handlers(empty, ok), []time.Duration{first}, "", false},
		"500":                         {place, handlers(refuse(500, "INTERNAL")), nil, "INTERNAL", true},
		"key in use":                  {place, handlers(away, inUse, ok), seconds(2, 1), "", false},
		"conflict":                    {place, handlers(refuse(409, "TOTAL_MISMATCH")), nil, "TOTAL_MISMATCH", true},
		"lost response":               {place, handlers(hangUp, ok), []time.Duration{first}, "", false},
		"lost response twice":         {get, handlers(hangUp, hangUp, ok), []time.Duration{first, second}, "", false},
		"lost response, change":       {change, handlers(hangUp), nil, "", true},
		"lost response, action":       {ping, handlers(hangUp), nil, "", true},
		"redirect":                    {get, handlers(elsewhere), nil, "", true},
		"success without JSON":        {get, handlers(html), nil, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.responses...)
			c, waits := s.client(Config{APIKey: "svc_test_sk_1", MaxRetries: 2})
			err := test.call(c)
			refused, _ := errors.AsType[*Error](err)
			if (err != nil) != test.fails || test.want != "" && (refused == nil || refused.Code != test.want) {
				t.Errorf("got %v, want code %q", err, test.want)
			}
			if !slices.Equal(*waits, test.waits) {
				t.Errorf("waits: got %v, want %v", *waits, test.waits)
			}
			if len(s.requests) != len(test.responses) {
				t.Errorf("got %d requests, want %d", len(s.requests), len(test.responses))
			}
			for _, r := range s.requests {
				if r != s.requests[0] {
					t.Errorf("repetition %+v differs from %+v", r, s.requests[0])
				}
			}
		})
	}
}

func handlers(all ...http.HandlerFunc) []http.HandlerFunc { return all }

func seconds(all ...time.Duration) []time.Duration {
	for i := range all {
		all[i] *= time.Second
	}
	return all
}

// A request that no server has received can be repeated, also if it is not idempotent.
func TestRepetitionWithoutConnection(t *testing.T) {
	t.Parallel()
	s := newService(t)
	c, waits := s.client(Config{MaxRetries: 2})
	s.Close()
	if err := change(c); err == nil || len(*waits) != 2 {
		t.Errorf("got %v after %d waits, want an error after 2", err, len(*waits))
	}
}

func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	ok := respond(200, `{}`)
	s := newService(t, ok, ok, ok, ok)
	c, _ := s.client(Config{APIKey: "svc_test_sk_1"})
	for _, call := range []func(*Client) error{place, place, quote} {
		if err := call(c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.PlaceOrder(t.Context(), PlaceOrderRequest{}, IdempotencyKey("mine")); err != nil {
		t.Fatal(err)
	}
	keys := []string{s.requests[0].key, s.requests[1].key, s.requests[2].key, s.requests[3].key}
	if len(keys[0]) < 20 || keys[0] == keys[1] || keys[2] != "" || keys[3] != "mine" {
		t.Errorf("keys: %q", keys)
	}
	if s.requests[0].authorization != "Bearer svc_test_sk_1" {
		t.Errorf("Authorization: %q", s.requests[0].authorization)
	}
}

func TestContextEndsWait(t *testing.T) {
	t.Parallel()
	s := newService(t, refuse(429, "RATE_LIMITED", "Retry-After", "5"))
	c, _ := s.client(Config{})
	ctx, cancel := context.WithCancel(t.Context())
	c.wait = func(ctx context.Context, d time.Duration) error {
		cancel()
		return sleep(ctx, time.Hour)
	}
	_, err := c.GetOrder(ctx, "ord_1")
	refused, ok := errors.AsType[*Error](err)
	if !errors.Is(err, context.Canceled) || !ok || refused.RetryAfter != 5*time.Second {
		t.Errorf("got %v, want the cancellation and the refusal", err)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	s := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(409)
		io.WriteString(w, `{"success":false,"error":{"statusCode":409,"code":"INVALID_TRANSITION","message":"no",
			"details":[{"path":"status","message":"is final"}],"allowedTransitions":["READY"],"requestId":"req_1"}}`)
	})
	c, _ := s.client(Config{})
	err := change(c)
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.StatusCode != 409 || refused.Code != ErrorCodeInvalidTransition || refused.RequestID != "req_1" ||
		!slices.Equal(refused.AllowedTransitions, []string{"READY"}) || len(refused.Details) != 1 {
		t.Errorf("got %#v", err)
	}
	want := "comanda: PATCH /orders/{id}/status: 409 INVALID_TRANSITION: no; status: is final (req_1)"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// A client of an older document must work with a newer service, which adds members, values and codes.
func TestNewerService(t *testing.T) {
	t.Parallel()
	s := newService(t,
		respond(200, `{"id":"ord_1","status":"ON_THE_MOON","rocket":{"stages":3},"items":[{"gravity":1.62}],
			"totalMinor":950}`),
		func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"success":true,"data":[{"id":"ord_1","source":"ROBOT"}],"signature":"x",
				"meta":{"limit":20,"nextCursor":null,"requestId":"req_1","weather":"fair"}}`)
		},
		func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(451)
			io.WriteString(w, `{"success":false,"error":{"statusCode":451,"code":"FORBIDDEN_PLANET","message":"no",
				"details":{"planet":"Altair IV"},"hint":1,"requestId":7}}`)
		})
	c, _ := s.client(Config{})
	order, err := c.GetOrder(t.Context(), "ord_1")
	if err != nil || order.Status != "ON_THE_MOON" || order.TotalMinor != 950 || len(order.Items) != 1 {
		t.Errorf("got %+v, %v", order, err)
	}
	for order, err := range c.AllOrders(t.Context(), ListOrdersParams{}) {
		if err != nil || order.Source != "ROBOT" {
			t.Errorf("got %+v, %v", order, err)
		}
	}
	refused, ok := errors.AsType[*Error](get(c))
	if !ok || refused.StatusCode != 451 || refused.Code != "FORBIDDEN_PLANET" || refused.Message != "no" {
		t.Errorf("got %+v", refused)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	page := func(ids, next string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			const body = `{"success":true,"data":[%s],"meta":{"limit":2,"nextCursor":%s,"requestId":"req_1"}}`
			fmt.Fprintf(w, body, ids, next)
		}
	}
	first, second := page(`{"id":"1"},{"id":"2"}`, `"b"`), page(`{"id":"3"}`, `null`)
	s := newService(t, first, second, first, first, refuse(403, "INSUFFICIENT_SCOPE"))
	c, _ := s.client(Config{})
	from := time.Date(2026, 3, 14, 19, 30, 0, 0, time.FixedZone("", 3600))
	all := c.AllOrders(t.Context(), ListOrdersParams{
		Limit: 2, Status: []OrderStatus{OrderStatusReady, OrderStatusReceived}, Due: new(false), CreatedFrom: from,
	})
	var ids string
	for order, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		ids += order.ID
	}
	const start = "GET /orders?createdFrom=2026-03-14T18%3A30%3A00Z"
	const rest = "&due=false&limit=2&status=READY&status=RECEIVED"
	if ids != "123" || s.requests[0].line != start+rest || s.requests[1].line != start+"&cursor=b"+rest {
		t.Errorf("got %s with %s and %s", ids, s.requests[0].line, s.requests[1].line)
	}
	for range all { // stops on the first page
		break
	}
	var last error
	for _, last = range all {
	}
	if refused, ok := errors.AsType[*Error](last); !ok || refused.Code != ErrorCodeInsufficientScope {
		t.Errorf("got %v, want the refusal of the second page", last)
	}
}

func TestIds(t *testing.T) {
	t.Parallel()
	s := newService(t, respond(200, `{}`), respond(200, `{}`))
	c, _ := s.client(Config{})
	for _, id := range []string{"", ".", ".."} {
		if _, err := c.GetOrder(t.Context(), id); err == nil {
			t.Errorf("id %q is accepted", id)
		}
	}
	if _, err := c.GetOrder(t.Context(), "a/b?c"); err != nil || s.requests[0].line != "GET /orders/a%2Fb%3Fc" {
		t.Errorf("got %+v, %v", s.requests, err)
	}
	if _, err := c.UpdateAddress(t.Context(), "{id}", "add_1", ChangeAddressRequest{}); err != nil ||
		s.requests[1].line != "PATCH /customers/%7Bid%7D/addresses/add_1" {
		t.Errorf("got %+v, %v", s.requests, err)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		change ChangeProductRequest
		want   string
	}{
		{ChangeProductRequest{}, `{}`},
		{ChangeProductRequest{
			SKU: Null[string](), Category: Set("pizza"), IsAvailable: new(false), PriceMinor: new(int64(0)),
		}, `{"category":"pizza","isAvailable":false,"priceMinor":0,"sku":null}`},
		{ChangeProductRequest{OptionGroups: []OptionGroupRequest{}, Prices: map[string]*int64{"CHF": nil}},
			`{"optionGroups":[],"prices":{"CHF":null}}`},
	} {
		if got, err := json.Marshal(test.change); err != nil || string(got) != test.want {
			t.Errorf("got %s, %v, want %s", got, err, test.want)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for url, ok := range map[string]bool{
		"https://comanda.example.com": true, "https://comanda.example.com/api/": true, "http://localhost:8080": true,
		"http://127.0.0.1:1": true, "http://comanda.example.com": false, "comanda.example.com": false, "": false,
		"https://": false, "https://a@b.example": false, "https://b.example?x": false, "ftp://localhost": false,
	} {
		if _, err := New(url, Config{}); (err == nil) != ok {
			t.Errorf("%q: got %v, want success %t", url, err, ok)
		}
	}
	c, err := New("https://comanda.example.com/api/", Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := c.prepare(call{path: "/orders"}, nil); err != nil || !strings.HasSuffix(r.url, "/api/orders") ||
		strings.Contains(r.url, "api//") {
		t.Errorf("got %v, %v", r, err)
	}
}
