package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/comanda-dev/comanda/api/openapi"
	"github.com/comanda-dev/comanda/app"
)

var update = flag.Bool("update", false, "rewrite openapi.yaml and the Go client")

// openapi.yaml is generated from the route table, its types and the texts in the folder openapi/texts.
func TestOpenAPIIsUpToDate(t *testing.T) {
	t.Parallel()
	tree, err := document()
	if err != nil {
		t.Fatal(err)
	}
	made, err := openapi.YAML(tree)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.yaml", made, 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("go", "generate", "./client/comanda").CombinedOutput(); err != nil {
			t.Fatalf("the Go client cannot be generated: %v\n%s", err, out)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(openAPI), "\n"), strings.Split(string(made), "\n")); diff != "" {
		t.Errorf("openapi.yaml is out of date; run go test ./api -run TestOpenAPI -update (-file +generated):\n%s",
			diff)
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
			t.Fatalf("schema %s: got error %v, want none", pointer, err)
		}
		schemas.known[pointer] = schema
	}
	return schemas.known[pointer]
}

// checkResponse checks a response against the document. The error of a known operation must be one of its documented
// codes.
func checkResponse(t *testing.T, method, path string, a *response) {
	t.Helper()
	schema := schemaAt(t, "/components/schemas/Failure")
	rt, code := routeOf(method, path), a.body.Error.Code
	switch {
	case rt != nil && a.Code < 300:
		escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(rt.Path)
		response := "/paths/" + escaped + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(a.Code)
		schema = schemaAt(t, response+"/content/application~1json/schema")
	case rt != nil && !slices.Contains(everywhere, code) && !slices.Contains(codesOf(*rt), code):
		t.Errorf("%s: got the code %s, want one of the documented codes %s", a.what, code, codesOf(*rt))
	}
	if set := a.Header().Get("Set-Cookie"); rt != nil && set != "" && a.Code < 300 && rt.Cookie == "" {
		t.Errorf("%s: got the undocumented cookie %s, want none", a.what, set)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s: the response does not match its documented schema: %v\n%s", a.what, err, a.Body)
	}
}

// Every operation with members in its body has a required body in the document, and no other one has a body. The
// generator omits the body of a DELETE unless its type has the method ForceRequestBody.
func TestDocumentedBodies(t *testing.T) {
	t.Parallel()
	tree, err := document()
	must(err)
	for _, rt := range routes() {
		path := tree["paths"].(map[string]any)[rt.Path].(map[string]any)
		operation := path[strings.ToLower(rt.Method)].(map[string]any)
		body, _ := operation["requestBody"].(map[string]any)
		if required, _ := body["required"].(bool); required != (rt.Handler.body && !rt.Handler.bodyless) {
			t.Errorf("%s %s: got the documented body %v, want a required one: %t", rt.Method, rt.Path, body,
				rt.Handler.body && !rt.Handler.bodyless)
		}
	}
}

// routeOf finds the route of a request like the router, which matches the path before the method.
func routeOf(method, path string) *route {
	pattern := ""
	for _, rt := range routes() {
		if pattern == "" && fits(rt.Path, path) {
			pattern = rt.Path
		}
		if rt.Method == method && rt.Path == pattern {
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
	server, hidden := New(Config{}), New(Config{HideDocs: true})
	for path, want := range map[string]string{
		"/openapi.yaml": "openapi: 3.1.0", "/openapi.json": `"openapi":"3.1.0"`,
		"/docs": "swagger-ui-bundle.js", "/docs/docs.js": "SwaggerUIBundle(",
		"/docs/swagger-ui-bundle.js": "SwaggerUIBundle", "/docs/swagger-ui.css": ".swagger-ui",
		"/docs/favicon-32x32.png": "PNG",
	} {
		if code := get(hidden, path).Code; code != 404 {
			t.Errorf("%s without documentation: got %d, want 404", path, code)
		}
		a := &response{ResponseRecorder: get(server, path), t: t, what: path}
		checkHeaders(a)
		if a.Code != 200 || !strings.Contains(a.Body.String(), want) {
			t.Errorf("%s: got status %d, want 200 and a body with %s: %s", path, a.Code, want,
				cut(a.Body.String(), 200))
		}
	}
	// The pages load only files of this server.
	for _, page := range [][]byte{docsPage, docsScript} {
		for _, quoted := range strings.Split(string(page), `"`) {
			if strings.HasPrefix(quoted, "/") && get(server, quoted).Code != 200 {
				t.Errorf("file %s of a page: got no status 200", quoted)
			}
			if strings.Contains(quoted, "//") {
				t.Errorf("file %s of a page: got another server, want ours", quoted)
			}
		}
	}
	if policy := get(server, "/docs").Header().Get("Content-Security-Policy"); !strings.Contains(policy,
		"default-src 'none'") {
		t.Errorf("Content-Security-Policy: got %q, want default-src 'none' in it", policy)
	}
	if a := get(server, "/docs/../auth/me"); a.Code != 404 {
		t.Errorf("path with dots: got status %d, want 404", a.Code)
	}
}

// The served JSON is the document: YAML has changed neither texts that look like times nor integers.
func TestOpenAPIAsJSON(t *testing.T) {
	if *update {
		t.Skip("the program contains the document from before the update")
	}
	t.Parallel()
	served := get(New(Config{}), "/openapi.json")
	if got := served.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type: got %s, want application/json", got)
	}
	got, err := jsonschema.UnmarshalJSON(served.Body)
	must(err)
	want, err := document()
	must(err)
	encoded, err := json.Marshal(want)
	must(err)
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	must(err)
	if diff := cmp.Diff(decoded, got); diff != "" {
		t.Errorf("openapi.json differs from the document (-document +served):\n%s", diff)
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
		t.Fatalf("codes in app/error.go: got %d, want at least 20", len(declared))
	}
	if got := len(clientTexts().Codes); got != len(declared) {
		t.Errorf("codes in api/openapi/texts/document.yaml: got %d, want %d", got, len(declared))
	}
	for _, code := range declared {
		if statuses[app.Code(code)] == 0 {
			t.Errorf("%s: got no status, want one", code)
		}
		if clientTexts().Codes[code] == "" {
			t.Errorf("%s: got no text; add one to codes in api/openapi/texts/document.yaml", code)
		}
	}
}

// TestEnumsAreComplete compares the lists of values with the constants of their types.
func TestEnumsAreComplete(t *testing.T) {
	t.Parallel()
	for enum, values := range enums {
		if enum == reflect.TypeFor[endedStatus]() {
			continue // a part of app.DeliveryStatus, of which app keeps the list
		}
		folder := "../app"
		if enum.PkgPath() == reflect.TypeFor[Server]().PkgPath() {
			folder = "."
		}
		declared := slices.DeleteFunc(constants(t, folder, enum.Name()), func(value string) bool {
			return enum == reflect.TypeFor[app.EventType]() && value == string(app.AllEvents) // selects types
		})
		slices.Sort(declared)
		if diff := cmp.Diff(declared, slices.Sorted(slices.Values(values))); diff != "" {
			t.Errorf("%s (-declared +listed):\n%s", enum, diff)
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
			own, keys, each := openapi.Limits(memberLimits).Rules(field.Tag.Get("validate"))
			for _, rule := range slices.Concat(own, keys, each) {
				of := field.Type
				if len(each) > 0 && !slices.Contains(own, rule) {
					for of.Kind() == reflect.Pointer {
						of = of.Elem()
					}
					of = of.Elem()
				}
				if rule.Name != "omitempty" && messageOf(rule.Name, rule.Param, of) == "" {
					t.Errorf("%s.%s: got no message for the rule %q, want one", in, field.Name, rule.Name)
				}
			}
			check(field.Type)
		}
	}
	for _, rt := range routes() {
		check(rt.Handler.in)
	}
}

func TestRequestSchema(t *testing.T) {
	t.Parallel()
	schema := schemaAt(t, "/components/schemas/PlaceOrderRequest")
	const items = `"items":[{"productId":"prd_1","quantity":1}],`
	for members, fits := range map[string]bool{
		items + `"fulfillmentType":"PICKUP","customer":{"name":"Ada"}`:              true,
		items + `"fulfillmentType":"PICKUP","customer":{"name":" "}`:                false,
		`"items":[{"productId":"prd_1","quantity":0}],"fulfillmentType":"PICKUP"`:   false,
		items + `"fulfillmentType":"FLYING"`:                                        false,
		`"items":[],"fulfillmentType":"PICKUP"`:                                     false,
		`"fulfillmentType":"PICKUP"`:                                                false,
		items + `"fulfillmentType":"PICKUP","tip":1`:                                false,
		items + `"fulfillmentType":"PICKUP","note":null`:                            false,
		items + `"fulfillmentType":"PICKUP","customer":{"name":"A","phone":"+0"}`:   false,
		items + `"fulfillmentType":"PICKUP","customer":{"name":"A","email":"a"}`:    false,
		items + `"fulfillmentType":"DELIVERY","deliveryAddress":{"line1":"1 Road"}`: false,
	} {
		t.Run(members, func(t *testing.T) {
			body := "{" + members + "}"
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); (err == nil) != fits {
				t.Errorf("%s: got error %v, want one: %t", body, err, !fits)
			}
		})
	}
}

func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	tree, err := document()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, rt := range routes() {
		path := tree["paths"].(map[string]any)[rt.Path].(map[string]any)
		operation := path[strings.ToLower(rt.Method)].(map[string]any)
		if id := rt.Handler.id; operation["operationId"] != id || ids[id] {
			t.Errorf("%s %s: got the operationId %v, want %s, once", rt.Method, rt.Path, operation["operationId"], id)
		}
		ids[rt.Handler.id] = true
	}
}
