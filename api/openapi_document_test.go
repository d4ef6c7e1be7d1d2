package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/api/openapi"
	"github.com/comanda-dev/comanda/app"
)

// texts of the document, which clients read.
var clientTexts = sync.OnceValue(func() *openapi.Texts {
	read, err := openapi.ReadTexts(map[string]string{
		"columns": columnNames, "maxObject": fmt.Sprintf("%d KiB", app.MaxObject>>10),
	})
	must(err)
	return read
})

// document is the OpenAPI document as a tree of JSON.
var document = sync.OnceValues(func() (map[string]any, error) {
	api := openapi.API{
		Title: "Comanda", Version: "1.0", License: "Apache-2.0",
		Schemes: []openapi.Scheme{
			{Name: "bearer"},
			{Name: securityOf[userCookie], Cookie: userCookie},
			{Name: securityOf[customerCookie], Cookie: customerCookie},
			{Name: "signature", Header: "X-Webhook-Signature"},
		},
		Schemas: generator(), Failures: failures(), Events: webhookEvents(),
	}
	for _, rt := range routes() {
		api.Operations = append(api.Operations, described(rt))
	}
	return api.Document()
})

// generator makes the schemas of requests, responses and events.
var generator = sync.OnceValue(func() openapi.Schemas {
	return openapi.Schemas{
		Texts: clientTexts(), Enums: enums, Failure: failure{}, Samples: samples(),
		Open: map[reflect.Type]string{reflect.TypeFor[app.Code](): "ErrorCode"},
		Lists: map[string]openapi.List{
			"SubscribableEventType": {Values: subscribable},
			"ListedEventType":       {Values: texts(app.EventTypes[:])},
			"ErrorCode":             {Values: errorCodes(), Open: true},
		},
		Limits:   memberLimits,
		Patterns: map[reflect.Type]string{reflect.TypeFor[etag](): etagPattern},
		Tags: map[string]openapi.Tag{
			"currency":         {Pattern: "^[A-Z]{3}$"},
			"date":             {Format: "date"},
			"email":            {Format: "email"},
			"https_url":        {Format: "uri"},
			"id":               {Pattern: "^[A-Za-z0-9_-]{1,64}$"},
			"iso3166_1_alpha2": {Pattern: "^[A-Z]{2}$"},
			"clientid":         {Pattern: clientIDPattern},
			"listed":           {Enum: "ListedEventType"},
			"last4":            {Pattern: last4Pattern},
			"clock":            {Pattern: clockPattern},
			"clockend":         {Pattern: clockEndPattern},
			"locale":           {Pattern: localePattern},
			"viewcode":         {Pattern: viewCodePattern},
			"notblank":         {Pattern: `\S`},
			"oneline":          {Pattern: oneLinePattern},
			"phone":            {Pattern: phonePattern},
			"dialled":          {Pattern: dialledPattern},
			"provider":         {Pattern: providerPattern},
			"subscribable":     {Enum: "SubscribableEventType"},
			"timezone":         {Pattern: timezonePattern},
		},
	}
})

// securityOf names the security scheme of each refresh cookie.
var securityOf = map[string]string{userCookie: "cookie", customerCookie: "customerCookie"}

// idempotencyKey is the header of operations that accept an Idempotency-Key.
type idempotencyKey struct {
	Key string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$"`
}

// described describes a route.
func described(rt route) openapi.Operation {
	o := openapi.Operation{
		ID: rt.Handler.id, Method: rt.Method, Path: rt.Path, Status: rt.Status,
		In: rt.Handler.in, CSV: rt.Handler.rows,
		Out: rt.Handler.response, Existing: rt.Handler.repeats, Failures: []int{400, 403, 500, 503},
	}
	text := "No credential is required."
	switch {
	case rt.byAccessToken():
		o.Scheme, text = "bearer", openapi.Callers(app.Permissions[rt.Permission])
	case rt.Permission == byRefreshToken:
		o.Scheme, text = securityOf[rt.Cookie], "For clients with the refresh token."
	}
	of := clientTexts().Operation(rt.Handler.id)
	if of.Text != "" {
		text = of.Text + "\n\n" + text
	}
	if _, stream := o.Out.(eventStream); stream {
		o.Out, o.MediaType = "", "text/event-stream"
		text += "\n\n" + of.Stream
	}
	if limits := limitsOf(rt); limits != "" {
		text += "\n\n" + limits
	}
	o.RateLimited, o.Bodyless = rt.byCredential(), rt.Handler.bodyless
	if o.Idempotent = rt.Idempotent; o.Idempotent {
		o.Headers = idempotencyKey{}
	}
	if rt.Cookie != "" {
		o.SetCookie = cookieOf(rt)
	}
	if rt.Method != http.MethodGet {
		o.Failures = append(o.Failures, 413, 415)
	}
	for _, code := range codesOf(rt) {
		text += fmt.Sprintf("\n- %d `%s`: %s", statuses[code], code, clientTexts().Codes[string(code)])
		o.Failures = append(o.Failures, statuses[code])
	}
	o.Description = text
	return o
}

// limitsOf describes the limits of a route, except those that the introduction describes.
func limitsOf(rt route) string {
	var texts []string
	for _, q := range rt.Limit.quotas {
		most := cmp.Or(q.most, q.factor*newLimiter(Config{}).most)
		texts = append(texts, fmt.Sprintf("%d %s in any %v per %s", most, q.name, inWords[q.window], q.per))
	}
	if streams := rt.Limit.streams; streams.Store > 0 {
		texts = append(texts, fmt.Sprintf("%d open streams per store", streams.Store),
			fmt.Sprintf("%d per website", streams.Website))
	}
	if texts == nil {
		return ""
	}
	return "At most " + strings.Join(texts, " and ") + "."
}

// inWords are the windows of quotas.
var inWords = map[time.Duration]string{time.Minute: "minute", time.Hour: "hour"}

// cookieOf returns the refresh cookie that an operation sets or, at the end of a session, clears.
func cookieOf(rt route) string {
	value, age := "…", "604800"
	if rt.byAccessToken() {
		value, age = "", "0"
	}
	return rt.Cookie + "=" + value + "; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=" + age
}

// everywhere are the error codes of all operations.
var everywhere = []app.Code{
	app.CodeHTTPSRequired, app.CodePayloadTooLarge, app.CodeUnsupportedMediaType, app.CodeValidationFailed,
	app.CodeInternal, app.CodeUnavailable,
}

// codesOf returns the error codes of an operation, except those of all operations.
func codesOf(rt route) []app.Code {
	var codes []app.Code
	if rt.guarded() && rt.Method != http.MethodGet {
		codes = append(codes, app.CodeCrossOrigin)
	}
	if rt.Limit.any() || rt.byAccessToken() {
		codes = append(codes, app.CodeRateLimited)
	}
	if rt.byAccessToken() {
		codes = append(codes, app.CodeTokenInvalid, app.CodeTokenExpired, app.CodeTokenRevoked)
	}
	if rt.byAccessToken() && (app.Permissions[rt.Permission].Role != "" || app.Permissions[rt.Permission].Own) {
		codes = append(codes, app.CodeWebsiteSuspended)
	}
	if rt.byAccessToken() && app.Permissions[rt.Permission].Role != "" {
		codes = append(codes, app.CodeAPIKeyRevoked, app.CodeInsufficientScope)
	}
	grant := app.Permissions[rt.Permission]
	if rt.requiresOTP() && rt.byAccessToken() && (grant.Role != "" || grant.Platform) {
		codes = append(codes, app.CodeOTPSetupRequired)
	}
	if rt.Proof {
		codes = append(codes, app.CodeReauthentication)
	}
	role := app.Permissions[rt.Permission].Role
	if role != "" && role != app.RoleStaff || rt.Handler.in.Implements(reflect.TypeFor[demanding]()) {
		codes = append(codes, app.CodeInsufficientRole)
	}
	if rt.Handler.resource != "" {
		codes = append(codes, app.CodeNotFound)
	}
	if rt.Handler.resource != "" || rt.Handler.withStore != nil && rt.Permission != public {
		codes = append(codes, app.CodeStoreMismatch)
	}
	if rt.Idempotent {
		codes = append(codes, app.CodeIdempotencyKeyInUse, app.CodeIdempotencyKeyReused)
	}
	for _, code := range rt.Handler.codes {
		if !slices.Contains(codes, code) {
			codes = append(codes, code)
		}
	}
	slices.SortStableFunc(codes, func(a, b app.Code) int { return statuses[a] - statuses[b] })
	return codes
}

// errorCodes are all error codes.
func errorCodes() (all []string) {
	for code := range statuses {
		all = append(all, string(code))
	}
	slices.Sort(all)
	return all
}

// failures are the examples of the error responses, by status: each has the first code with this status.
func failures() map[int]any {
	examples := map[int]any{}
	for _, code := range errorCodes() {
		status := statuses[app.Code(code)]
		if examples[status] != nil {
			continue
		}
		body := errorBody{
			StatusCode: status, Code: app.Code(code), Message: clientTexts().Codes[code],
			RequestID: "req_019ced814dfa7d91a4e5f60718293a4b",
		}
		if code == string(app.CodeValidationFailed) {
			body.Details = []app.Detail{{Path: "items[0].quantity", Message: "must be at least 1"}}
		}
		examples[status] = failure{Error: body}
	}
	return examples
}

// samples are the examples of resources whose members depend on each other.
func samples() []any {
	order := moveExample(exampleOrder(), app.OrderReceived, 1, exampleDay, 0)
	reservation := exampleReservation(exampleDay)
	disabled := false
	customer := exampleCustomerRow()
	return []any{
		order, orderOut{order, order.Status.Transitions(order.FulfillmentType, true)},
		reservation, reservationOut{reservation, reservation.Status.Transitions()},
		customer, customerOut{customer, &disabled},
		exampleProductRow(),
	}
}

// webhookEvents describes the requests to webhooks.
func webhookEvents() (events []openapi.Event) {
	for i, row := range eventRows() {
		example, err := exampleOf(row, i)
		must(err)
		events = append(events, openapi.Event{
			Type: string(row.name), Envelope: app.Envelope{}, Data: row.data, Always: row.always,
			Example: json.RawMessage(example), Tag: "Events", Unplaced: row.name == app.EventTestPing,
		})
	}
	return events
}
