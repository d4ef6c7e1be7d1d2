package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	jsonschema6 "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"
	"gopkg.in/yaml.v2"

	"github.com/comanda-dev/comanda/app"
)

// introduction opens the document.
//
//go:embed testdata/introduction.md
var introduction string

// meanings says what a client can make of each code.
var meanings = map[app.Code]string{
	app.CodeTokenExpired:         "the access token has expired: POST /auth/refresh",
	app.CodeTokenInvalid:         "the credential is missing, malformed, tampered with or of another realm: log in again",
	app.CodeTokenRevoked:         "the session has ended or the membership is gone: log in again",
	app.CodeAPIKeyRevoked:        "the API key was revoked: create a new one",
	app.CodeInsufficientRole:     "the role lacks the permission",
	app.CodeInsufficientScope:    "the API key lacks the scope",
	app.CodeStoreMismatch:        "this belongs to, or names, another store: POST /auth/switch-store",
	app.CodeRateLimited:          "too many requests: wait as Retry-After says",
	app.CodeValidationFailed:     "the request is not valid; details names the faults",
	app.CodeInvalidCredentials:   "the e-mail address or the password is wrong",
	app.CodeHTTPSRequired:        "the request came over plain HTTP",
	app.CodeCrossOrigin:          "the request came from another site's page",
	app.CodeNotFound:             "there is nothing of that id",
	app.CodeMethodNotAllowed:     "the path has no such method; Allow names those it has",
	app.CodeConflict:             "the state of things does not allow this",
	app.CodeLastOwner:            "a store must keep an OWNER",
	app.CodeEmailTaken:           "somebody has registered with the e-mail address",
	app.CodeAccountLinkRequired:  "there is an account of that e-mail address, for which the provider does not vouch: log in with its password",
	app.CodeDeliveryInProgress:   "the delivery has not ended yet",
	app.CodePayloadErased:        "the event's body is no longer kept",
	app.CodeVersionMismatch:      "somebody has changed it since the version in If-Match: read it again",
	app.CodeInvalidTransition:    "the status cannot become that one; allowedTransitions names those that it can",
	app.CodeSlotFull:             "there are not enough seats left at that time",
	app.CodeTotalMismatch:        "the order costs something else than expected",
	app.CodeIdempotencyKeyInUse:  "the first request with this Idempotency-Key is still running: wait as Retry-After says",
	app.CodePayloadTooLarge:      "the body has more than 1 MiB",
	app.CodeUnsupportedMediaType: "the body is not application/json in UTF-8",
	app.CodeProductUnavailable:   "a product is unknown, not available or out of stock",
	app.CodePriceNotSet:          "a product has no price in the currency of the store view",
	app.CodeAmountTooLarge:       "an amount is too large to be computed with",
	app.CodeRefundExceedsPayment: "the refund is more than is left of the payment",
	app.CodeLimitReached:         "there are as many as there may be",
	app.CodeOutsideBookingWindow: "the reservation begins too soon, or too far ahead, for the store's settings",
	app.CodeIdempotencyKeyReused: "the Idempotency-Key was used for another body",
	app.CodeInternal:             "something is wrong on our side; it has been logged under the request id",
	app.CodeUnavailable:          "something that the service depends on is out of reach: wait as Retry-After says",
}

// everywhere are the refusals that need not be named for each operation.
var everywhere = []app.Code{
	app.CodeHTTPSRequired, app.CodePayloadTooLarge, app.CodeUnsupportedMediaType, app.CodeValidationFailed, app.CodeInternal, app.CodeUnavailable,
}

// codesOf returns the codes with which an operation can be refused besides those.
func codesOf(rt route) []app.Code {
	var codes []app.Code
	if (strings.HasPrefix(rt.path, "/auth/") || strings.HasPrefix(rt.path, "/customer-auth/")) && rt.method != "GET" {
		codes = append(codes, app.CodeCrossOrigin)
	}
	if _, known := limited[rt.method+" "+rt.path]; known {
		codes = append(codes, app.CodeRateLimited)
	}
	if rt.byAccessToken() {
		codes = append(codes, app.CodeTokenInvalid, app.CodeTokenExpired, app.CodeTokenRevoked)
	}
	if rt.byAccessToken() && app.Permissions[rt.permission].Role != "" {
		codes = append(codes, app.CodeAPIKeyRevoked, app.CodeInsufficientScope)
	}
	if role := app.Permissions[rt.permission].Role; role != "" && role != app.RoleStaff || rt.endpoint.in.Implements(reflect.TypeFor[demanding]()) {
		codes = append(codes, app.CodeInsufficientRole)
	}
	if rt.resource != "" {
		codes = append(codes, app.CodeNotFound)
	}
	if rt.resource != "" || rt.endpoint.withStore >= 0 && rt.permission != public {
		codes = append(codes, app.CodeStoreMismatch)
	}
	if rt.once {
		codes = append(codes, app.CodeIdempotencyKeyInUse, app.CodeIdempotencyKeyReused)
	}
	for _, code := range rt.endpoint.codes {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	slices.SortStableFunc(codes, func(a, b app.Code) int { return statuses[a] - statuses[b] })
	return codes
}

// streamed says what comes of GET /orders/stream.
const streamed = `Each change is an event "order" whose data is ` + "`" + `{"id","orderId","status","version"}` + "`" + `: read the order to see it. ` +
	`A comment comes every 15 seconds. As long as the stream goes on it has left nothing out; it ends when the access token expires, the session ends or the client ` +
	`is too slow: then read what has changed (GET /orders?updatedSince=) and begin anew. A login or API key has at most 10 at once.`

const (
	schemasAt   = "#/components/schemas/"
	responsesAt = "#/components/responses/"
)

// newReflector makes schemas of our types.
func newReflector() *openapi31.Reflector {
	reflector := openapi31.NewReflector()
	reflector.DefaultOptions = append(reflector.DefaultOptions,
		jsonschema.InterceptDefName(nameOf), jsonschema.InterceptSchema(describeType), jsonschema.InterceptProp(describeField),
		jsonschema.InterceptNullability(describeNull),
		func(rc *jsonschema.ReflectContext) { rc.EnvelopNullability = true })
	reflector.AddTypeMapping(app.Time{}, *jsonschema.String.ToSchemaOrBool().TypeObject.WithFormat("date-time"))
	secret := jsonschema.String.ToSchemaOrBool().TypeObject.WithFormat("password").WithExtraPropertiesItem("writeOnly", true)
	reflector.AddTypeMapping(app.Secret{}, *secret)
	reflector.AddTypeMapping(jsontext.Value{}, *jsonschema.Object.ToSchemaOrBool().TypeObject)
	reflector.InlineDefinition(jsontext.Value{})
	reflector.InlineDefinition(app.Time{})
	reflector.InlineDefinition(app.Secret{})
	for enum := range enums {
		reflector.InlineDefinition(reflect.Zero(enum).Interface())
	}
	return reflector
}

// describe makes the document of a table of routes.
func describe(table []route) (*openapi31.Spec, error) {
	reflector := newReflector()
	spec := reflector.SpecEns()
	spec.SetTitle("Comanda")
	spec.SetVersion("1.0")
	spec.SetDescription(strings.TrimSpace(introduction))
	spec.WithServers(openapi31.Server{URL: "/"})
	spec.SetHTTPBearerTokenSecurity("bearer", "JWT", "The access token of POST /auth/login or POST /customer-auth/login, or an API key. Credentials are read from this header only.")
	spec.SetAPIKeySecurity("cookie", refreshCookie, openapi.InCookie, "The refresh token, good for POST /auth/refresh and for one use.")
	spec.SetAPIKeySecurity("customerCookie", customerRefreshCookie, openapi.InCookie, "A customer's refresh token, good for POST /customer-auth/refresh and for one use.")
	if err := describeFailures(reflector); err != nil {
		return nil, err
	}
	for _, rt := range table {
		if err := describeRoute(reflector, rt); err != nil {
			return nil, fmt.Errorf("%s %s: %w", rt.method, rt.path, err)
		}
	}
	return spec, nil
}

// describeFailures makes one response for each status of refusals.
func describeFailures(reflector *openapi31.Reflector) error {
	components := reflector.SpecEns().ComponentsEns()
	var failed error
	collect := func(name string, schema jsonschema.Schema) {
		simple, err := schema.ToSchemaOrBool().ToSimpleMap()
		components.WithSchemasItem(name, simple)
		failed = errors.Join(failed, err)
	}
	oc, err := reflector.NewOperationContext("GET", "/")
	if err != nil {
		return err
	}
	_, err = reflector.Reflect(failure{}, openapi.WithOperationCtx(oc, true, openapi.InBody), jsonschema.RootRef,
		jsonschema.DefinitionsPrefix(schemasAt), jsonschema.CollectDefinitions(collect))
	components.WithHeadersItem("X-Request-Id", headerOf("Names this request in our log."))
	components.WithHeadersItem("WWW-Authenticate", headerOf("Bearer"))
	components.WithHeadersItem("Retry-After", headerOf("Whole seconds, where waiting helps."))
	for status := range maps.Values(statuses) {
		response := openapi31.Response{Description: http.StatusText(status)}
		response.WithContentItem("application/json", openapi31.MediaType{Schema: map[string]any{"$ref": schemasAt + "Failure"}})
		headers := []string{"X-Request-Id"}
		switch status {
		case 401:
			headers = append(headers, "WWW-Authenticate")
		case 409, 429, 503:
			headers = append(headers, "Retry-After")
		}
		for _, name := range headers {
			response.WithHeadersItem(name, openapi31.HeaderOrReference{Reference: &openapi31.Reference{Ref: "#/components/headers/" + name}})
		}
		components.WithResponsesItem(strconv.Itoa(status), openapi31.ResponseOrReference{Response: &response})
	}
	return errors.Join(failed, err)
}

func headerOf(text string) openapi31.HeaderOrReference {
	header := openapi31.Header{Schema: map[string]any{"type": "string"}}
	return openapi31.HeaderOrReference{Header: header.WithDescription(text)}
}

func describeRoute(reflector *openapi31.Reflector, rt route) error {
	oc, err := reflector.NewOperationContext(rt.method, rt.path)
	if err != nil {
		return err
	}
	oc.SetID(rt.endpoint.name)
	oc.SetSummary(rt.summary)
	oc.SetTags(strings.Split(rt.path, "/")[1])
	text := "For everybody."
	switch {
	case rt.byAccessToken():
		oc.AddSecurity("bearer")
		text = whoMay(rt.permission)
	case rt.permission == byRefreshToken:
		if strings.HasPrefix(rt.path, "/customer-auth/") {
			oc.AddSecurity("customerCookie")
		} else {
			oc.AddSecurity("cookie")
		}
		text = "For whoever has the refresh token."
	}
	oc.AddReqStructure(sampleOf(rt.endpoint.in))
	if rt.once {
		oc.AddReqStructure(struct {
			Key string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$" description:"Repeating a request with its key and body within 24 hours has the first one's answer and no further effect."`
		}{})
	}
	answer, contentType := rt.endpoint.answer, ""
	if _, stream := answer.(eventStream); stream {
		answer, contentType = "", "text/event-stream"
		text += "\n\n" + streamed
	}
	if answer != nil {
		reflector.InlineDefinition(answer)
	}
	oc.AddRespStructure(answer, openapi.WithHTTPStatus(rt.status), func(cu *openapi.ContentUnit) { cu.Description, cu.ContentType = "Done.", contentType })
	if rt.endpoint.repeats {
		oc.AddRespStructure(answer, openapi.WithHTTPStatus(http.StatusOK), func(cu *openapi.ContentUnit) {
			cu.Description = "It was there already, exactly so: this is it."
		})
	}
	failures := []int{400, 403, 500, 503}
	if rt.method != http.MethodGet {
		failures = append(failures, 413, 415)
	}
	for _, code := range codesOf(rt) {
		text += fmt.Sprintf("\n- %d `%s`: %s", statuses[code], code, meanings[code])
		failures = append(failures, statuses[code])
	}
	oc.SetDescription(text)
	for _, status := range failures {
		oc.AddRespStructure(nil, openapi.WithHTTPStatus(status), openapi.WithReference(responsesAt+strconv.Itoa(status)))
	}
	if err := reflector.AddOperation(oc); err != nil {
		return err
	}
	return refine(reflector.Spec, rt)
}

// sampleOf returns a value of a struct type in which nullables are there: the library steps
// into pointers to pointers.
func sampleOf(t reflect.Type) any {
	v := reflect.New(t).Elem()
	for i := range t.NumField() {
		if clearable(t.Field(i).Type) {
			v.Field(i).Set(reflect.New(t.Field(i).Type.Elem()))
		}
	}
	return v.Interface()
}

// cookieOf says with which cookie an operation answers.
var cookieOf = map[string]string{
	"acceptInvite":     "refreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"login":            "refreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"registerCustomer": "customerRefreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"loginCustomer":    "customerRefreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"socialLogin":      "customerRefreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"logoutCustomer":   "customerRefreshToken=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0",
	"refreshCustomer":  "customerRefreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"refresh":          "refreshToken=…; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=604800",
	"logout":           "refreshToken=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0",
}

// refine adds what the library does not know of.
func refine(spec *openapi31.Spec, rt route) error {
	return spec.SetupOperation(rt.method, rt.path, func(o *openapi31.Operation) error {
		if o.RequestBody != nil {
			o.RequestBody.RequestBody.WithRequired(true)
		}
		responses := o.Responses.MapOfResponseOrReferenceValues
		done := responses[strconv.Itoa(rt.status)].Response
		done.WithHeadersItem("X-Request-Id", openapi31.HeaderOrReference{Reference: &openapi31.Reference{Ref: "#/components/headers/X-Request-Id"}})
		if rt.endpoint.repeats {
			responses["200"].Response.WithHeadersItem("X-Request-Id", done.Headers["X-Request-Id"])
		}
		if cookie := cookieOf[rt.endpoint.name]; cookie != "" {
			done.WithHeadersItem("Set-Cookie", headerOf(cookie))
		}
		return nil
	})
}

// whoMay says in words who has a permission.
func whoMay(permission app.Permission) string {
	grant := app.Permissions[permission]
	var who []string
	switch {
	case grant.Role == app.RoleStaff:
		who = append(who, "every user of the store")
	case grant.Role != "":
		who = append(who, "users with the role "+string(grant.Role)+" or a higher one")
	}
	if grant.Scope != "" {
		who = append(who, "API keys with the scope "+string(grant.Scope))
	}
	if grant.Platform {
		who = append(who, "platform administrators")
	}
	if grant.Own {
		who = append(who, "customers as to what is their own")
	}
	return "For " + strings.Join(who, " and ") + "."
}

// document returns the document's JSON as a tree.
var document = sync.OnceValues(func() (map[string]any, error) {
	spec, err := describe(routes())
	if err != nil {
		return nil, err
	}
	encoded, err := spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema6.UnmarshalJSON(bytes.NewReader(encoded))
	return tree.(map[string]any), err
})

// asYAML renders the document. Numbers stay as JSON has them: the library would write the
// larger ones in a form that some readers of YAML take for text.
func asYAML(tree map[string]any) ([]byte, error) {
	var members yaml.MapSlice
	for _, name := range []string{"openapi", "info", "servers", "paths", "components"} {
		members = append(members, yaml.MapItem{Key: name, Value: withIntegers(tree[name])})
	}
	return yaml.Marshal(members)
}

func withIntegers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := map[string]any{}
		for name, member := range v {
			copied[name] = withIntegers(member)
		}
		return copied
	case []any:
		copied := []any{}
		for _, element := range v {
			copied = append(copied, withIntegers(element))
		}
		return copied
	case json.Number:
		number, err := v.Int64()
		must(err)
		return number
	}
	return v
}
