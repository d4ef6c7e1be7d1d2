package api

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/comanda-dev/comanda/app"
)

var update = flag.Bool("update", false, "rewrite openapi.yaml")

// TestOpenAPIIsUpToDate makes the document from the table, its types and their comments.
func TestOpenAPIIsUpToDate(t *testing.T) {
	t.Parallel()
	tree, err := document()
	if err != nil {
		t.Fatal(err)
	}
	made, err := asYAML(tree)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.yaml", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(openAPI), "\n"), strings.Split(string(made), "\n")); diff != "" {
		t.Error("openapi.yaml is out of date; go test ./api -update\n", diff)
	}
}

// schemas compiles schemas of the document, each once.
var schemas = struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	known    map[string]*jsonschema.Schema
}{known: map[string]*jsonschema.Schema{}}

func schemaAt(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.compiler == nil {
		schemas.compiler = jsonschema.NewCompiler()
		schemas.compiler.AssertFormat()
		tree, err := document()
		must(err)
		must(schemas.compiler.AddResource("openapi.json", tree))
	}
	if schemas.known[pointer] == nil {
		schema, err := schemas.compiler.Compile("openapi.json#" + pointer)
		if err != nil {
			t.Fatalf("%s: %v", pointer, err)
		}
		schemas.known[pointer] = schema
	}
	return schemas.known[pointer]
}

// checkAnswer holds an answer against the document: a refusal of a known operation must be
// one of those that the operation names.
func checkAnswer(t *testing.T, method, path string, a *answer) {
	t.Helper()
	schema := schemaAt(t, "/components/schemas/Failure")
	rt, code := routeOf(method, path), a.body.Error.Code
	switch {
	case rt != nil && a.Code < 300:
		escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(rt.path)
		schema = schemaAt(t, "/paths/"+escaped+"/"+strings.ToLower(method)+"/responses/"+strconv.Itoa(a.Code)+"/content/application~1json/schema")
	case rt != nil && !slices.Contains(everywhere, code) && !slices.Contains(codesOf(*rt), code):
		t.Errorf("%s: the document does not name %s", a.what, code)
	}
	if set := a.Header().Get("Set-Cookie"); rt != nil && set != "" && a.Code < 300 && cookieOf[rt.endpoint.name] == "" {
		t.Errorf("%s: the document does not tell of the cookie %s", a.what, set)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s: the answer is not as documented: %v\n%s", a.what, err, a.Body)
	}
}

// routeOf finds the row of a request as the router does: the path first.
func routeOf(method, path string) *route {
	pattern := ""
	for _, rt := range routes() {
		if pattern == "" && fits(rt.path, path) {
			pattern = rt.path
		}
		if rt.method == method && rt.path == pattern {
			return &rt
		}
	}
	return nil
}

func fits(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && (!strings.HasPrefix(want[i], "{") || got[i] == "") {
			return false
		}
	}
	return true
}

func TestDocumentationPages(t *testing.T) {
	t.Parallel()
	server := New(Config{})
	for path, want := range map[string]string{
		"/openapi.yaml": "openapi: 3.1.0", "/docs": "swagger-ui-bundle.js", "/docs/docs.js": "SwaggerUIBundle(",
		"/docs/swagger-ui-bundle.js": "SwaggerUIBundle", "/docs/swagger-ui.css": ".swagger-ui", "/docs/favicon-32x32.png": "PNG",
	} {
		a := &answer{ResponseRecorder: get(server, path), t: t, what: path}
		checkHeaders(a)
		if a.Code != 200 || !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s: %d, without %s", path, a.Code, want)
		}
	}
	// What the pages refer to is served, and nothing else is loaded.
	for _, page := range [][]byte{docsPage, docsScript} {
		for _, quoted := range strings.Split(string(page), `"`) {
			if strings.HasPrefix(quoted, "/") && get(server, quoted).Code != 200 {
				t.Errorf("%s is not there", quoted)
			}
			if strings.Contains(quoted, "//") {
				t.Errorf("%s is elsewhere", quoted)
			}
		}
	}
	if policy := get(server, "/docs").Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("Content-Security-Policy: %s", policy)
	}
	if a := get(server, "/docs/../auth/me"); a.Code != 404 {
		t.Errorf("a path with dots: %d", a.Code)
	}
}

func get(server *Server, path string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest("GET", issuer+path, nil))
	return recorder
}

// TestEveryCodeHasAStatus keeps the tables of codes complete.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	declared := constants(t, "../app/error.go", "Code")
	if len(declared) < 20 {
		t.Fatalf("only %d codes found", len(declared))
	}
	for _, code := range declared {
		if statuses[app.Code(code)] == 0 {
			t.Errorf("%s has no status", code)
		}
		if meanings[app.Code(code)] == "" {
			t.Errorf("%s has no meaning in the document", code)
		}
	}
}

// TestEnumsAreComplete compares the lists of values with the constants that app declares.
func TestEnumsAreComplete(t *testing.T) {
	t.Parallel()
	for enum, values := range enums {
		if enum == reflect.TypeFor[endedStatus]() {
			continue // a part of app.DeliveryStatus, of which app keeps the list
		}
		declared := constants(t, "../app", enum.Name())
		slices.Sort(declared)
		if diff := cmp.Diff(declared, slices.Sorted(slices.Values(values))); diff != "" {
			t.Errorf("%s: %s", enum, diff)
		}
	}
}

func TestEveryTagHasAMessage(t *testing.T) {
	t.Parallel()
	var check func(in reflect.Type)
	check = func(in reflect.Type) {
		for in.Kind() == reflect.Pointer || in.Kind() == reflect.Slice || in.Kind() == reflect.Map {
			in = in.Elem()
		}
		if in.Kind() != reflect.Struct || kindOf(in) != anObject {
			return
		}
		for i := range in.NumField() {
			field := in.Field(i)
			own, keys, each := rulesOf(field.Tag.Get("validate"))
			for _, rule := range slices.Concat(own, keys, each) {
				of := field.Type
				if len(each) > 0 && of.Kind() != reflect.Pointer && !slices.Contains(own, rule) {
					of = of.Elem()
				}
				if rule.name != "omitempty" && messageOf(rule.name, rule.param, of) == "" {
					t.Errorf("%s.%s: no message for %q", in, field.Name, rule.name)
				}
			}
			check(field.Type)
		}
	}
	for _, rt := range routes() {
		check(rt.endpoint.in)
	}
}

func TestTheDocumentSaysWhatARequestNeeds(t *testing.T) {
	t.Parallel()
	schema := schemaAt(t, "/components/schemas/PlaceOrderRequest")
	for body, fits := range map[string]bool{
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","customer":{"name":"Ada"}}`:              true,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","customer":{"name":" "}}`:                false,
		`{"items":[{"productId":"prd_1","quantity":0}],"fulfillmentType":"PICKUP"}`:                                        false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"FLYING"}`:                                        false,
		`{"items":[],"fulfillmentType":"PICKUP"}`:                                                                          false,
		`{"fulfillmentType":"PICKUP"}`:                                                                                     false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","tip":1}`:                                false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","note":null}`:                            false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","customer":{"name":"A","phone":"+0"}}`:   false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"PICKUP","customer":{"name":"A","email":"a"}}`:    false,
		`{"items":[{"productId":"prd_1","quantity":1}],"fulfillmentType":"DELIVERY","deliveryAddress":{"line1":"1 Road"}}`: false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	tree, err := document()
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range routes() {
		operation := tree["paths"].(map[string]any)[rt.path].(map[string]any)[strings.ToLower(rt.method)].(map[string]any)
		if operation["operationId"] != rt.endpoint.name || operation["summary"] != rt.summary {
			t.Errorf("%s %s: %v", rt.method, rt.path, operation["operationId"])
		}
		if _, secured := operation["security"]; secured != (rt.permission != public) {
			t.Errorf("%s %s: security %v", rt.method, rt.path, operation["security"])
		}
	}
}
