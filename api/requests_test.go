package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// orderBody is a valid order in a store.
func (w *world) orderBody(store string) map[string]any {
	return map[string]any{
		"items":           []any{map[string]any{"productId": w.stores[store].product.ID, "quantity": 2}},
		"fulfillmentType": "PICKUP", "customer": map[string]any{"name": "Ada"},
	}
}

func apiKeyBody() map[string]any {
	return map[string]any{"name": "Till", "scopes": []string{"read:orders"}}
}

// productBody is a valid product. It has no SKU, so that several can be created.
func productBody() map[string]any {
	return map[string]any{"name": "Lasagne", "priceMinor": 1250, "currency": "EUR"}
}

func webhookBody() map[string]any {
	return map[string]any{
		"url": "https://example.com/hook", "events": []string{"order.created"}, "secret": webhookSecret,
	}
}

// response is the response to a request of a test.
type response struct {
	*httptest.ResponseRecorder
	t    *testing.T
	what string
	body struct {
		Success bool
		Data    json.RawMessage
		Meta    map[string]any
		Error   errorBody
	}
}

// do sends a request over TLS. body is nil, the bytes or the string of the body, or a value that is encoded as JSON. do
// checks the response against the OpenAPI document and the rules for all responses.
func (w *world) do(method, path, token string, body any, change ...func(*http.Request)) *response {
	w.Helper()
	return w.doOn(w.server, method, path, token, body, change...)
}

func (w *world) doOn(
	server http.Handler, method, path, token string, body any, change ...func(*http.Request),
) *response {
	w.Helper()
	r := httptest.NewRequest(method, issuer+path, reader(w.T, body))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, f := range change {
		f(r)
	}
	a := &response{ResponseRecorder: httptest.NewRecorder(), t: w.T, what: method + " " + path}
	server.ServeHTTP(a, r)
	checkHeaders(a)
	if a.Code == http.StatusNoContent && a.Body.Len() == 0 {
		return a
	}
	if a.Code == http.StatusOK && a.Header().Get("Content-Type") == "text/event-stream" {
		return a
	}
	if a.Header().Get("Content-Type") != "application/json" {
		w.Fatalf("%s: got %d with the content type %q, want application/json", a.what, a.Code,
			a.Header().Get("Content-Type"))
	}
	w.must(json.Unmarshal(a.Body.Bytes(), &a.body))
	if a.Code < 300 && bytes.HasPrefix(a.body.Data, []byte{'['}) &&
		a.body.Meta["requestId"] != a.Header().Get("X-Request-Id") {
		w.Errorf("%s: meta.requestId of a list: got %v, want %q", a.what, a.body.Meta["requestId"],
			a.Header().Get("X-Request-Id"))
	}
	checkResponse(w.T, method, strings.SplitN(path, "?", 2)[0], a)
	return a
}

func reader(t *testing.T, body any) io.Reader {
	switch body := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(body)
	case []byte:
		return bytes.NewReader(body)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(encoded)
}

func checkHeaders(a *response) {
	a.t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		"Strict-Transport-Security": "max-age=31536000",
	} {
		if got := a.Header().Get(name); got != want {
			a.t.Errorf("%s: header %s: got %q, want %q", a.what, name, got, want)
		}
	}
	// The API's own policy, or that of a page, which allows more.
	policy := a.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.HasSuffix(policy, "; frame-ancestors 'none'") &&
		policy != apiPolicy {
		a.t.Errorf("%s: got Content-Security-Policy %q, want nothing allowed by default and no frames", a.what, policy)
	}
	if id := a.Header().Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		a.t.Errorf("%s: header X-Request-Id: got %q, want the prefix req_", a.what, id)
	}
	if challenge := a.Header().Get("WWW-Authenticate"); (a.Code == 401) != (challenge == "Bearer") {
		a.t.Errorf("%s: got %d with WWW-Authenticate %q, want Bearer with 401 only", a.what, a.Code, challenge)
	}
}

// ok checks that the response has a status of success, and decodes its data.
func (a *response) ok(status int, data any) *response {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("%s: got the status %d, want %d: %s", a.what, a.Code, status, a.Body)
	}
	if data != nil {
		if err := json.Unmarshal(a.body.Data, data); err != nil {
			a.t.Fatalf("%s: data %s: got error %v, want %T", a.what, a.body.Data, err, data)
		}
	}
	return a
}

// refused checks that the response is an error with a code and, in this order, details with these paths.
func (a *response) refused(code app.Code, paths ...string) *response {
	a.t.Helper()
	if a.body.Error.Code != code || a.Code != statuses[code] {
		a.t.Errorf("%s: got %d %s, want %d %s: %s", a.what, a.Code, a.body.Error.Code, statuses[code], code,
			cut(a.Body.String(), 500))
		return a
	}
	got := []string{}
	for _, d := range a.body.Error.Details {
		got = append(got, d.Path)
	}
	if len(paths) > 0 && strings.Join(got, "|") != strings.Join(paths, "|") {
		a.t.Errorf("%s: got details at %q, want %q: %s", a.what, got, paths, cut(a.Body.String(), 500))
	}
	return a
}

// same returns the body without its request id, which differs in each response.
func (a *response) same() string {
	return strings.ReplaceAll(a.Body.String(), a.Header().Get("X-Request-Id"), "req")
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}
