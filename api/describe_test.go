package api

import (
	"cmp"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/openapi"
	"github.com/comanda-dev/comanda/app"
)

// introduction opens the document.
//
//go:embed testdata/introduction.md
var introduction string

// meanings describes each code and the reaction to it.
var meanings = map[app.Code]string{
	app.CodeTokenExpired:         "the access token has expired: POST /auth/refresh",
	app.CodeTokenInvalid:         "the credential is missing, invalid or of another realm: log in again",
	app.CodeTokenRevoked:         "the session or the membership has ended: log in again",
	app.CodeAPIKeyRevoked:        "the API key was revoked: create a new one",
	app.CodeInsufficientRole:     "the caller's role lacks the permission",
	app.CodeInsufficientScope:    "the API key lacks the scope",
	app.CodeStoreMismatch:        "the resource or the storeId is of another store: POST /auth/switch-store",
	app.CodeRateLimited:          "too many requests: repeat the request after Retry-After seconds",
	app.CodeValidationFailed:     "the request is invalid; details lists the faults",
	app.CodeInvalidCredentials:   "the email or password is incorrect",
	app.CodeOTPRequired:          "the password is correct, but the account also requires a one-time password",
	app.CodeOTPSetupRequired:     "the store requires one-time passwords; switch them on with POST /auth/otp",
	app.CodeHTTPSRequired:        "the request was not sent over HTTPS",
	app.CodeCrossOrigin:          "the request was sent by a page of another site",
	app.CodeWebsiteSuspended:     "the website is suspended",
	app.CodeNotFound:             "the resource does not exist",
	app.CodeMethodNotAllowed:     "the path does not support the method; Allow lists the supported methods",
	app.CodeConflict:             "the current state does not allow this request",
	app.CodeLastOwner:            "a store must keep an OWNER",
	app.CodeEmailTaken:           "the email is already registered",
	app.CodeAccountLinkRequired:  "an account with this email exists: log in with its password",
	app.CodeDeliveryInProgress:   "the delivery has not ended",
	app.CodePayloadErased:        "the body of the event has been erased",
	app.CodeVersionMismatch:      "the resource has changed since the version in If-Match: read it again",
	app.CodeInvalidTransition:    "the status cannot change to this one; allowedTransitions lists the possible ones",
	app.CodeSlotFull:             "not enough seats are free at this time",
	app.CodeTotalMismatch:        "the total differs from expectedTotalMinor",
	app.CodeIdempotencyKeyInUse:  "the first request with this Idempotency-Key is running: repeat it after Retry-After",
	app.CodePayloadTooLarge:      "the body has more than 1 MiB, or 8 MiB for POST /products/import",
	app.CodeUnsupportedMediaType: "the body is not application/json in UTF-8, nor text/csv for POST /products/import",
	app.CodeProductUnavailable:   "a product is unknown, not available or out of stock",
	app.CodePriceNotSet:          "a product has no price in the currency of the store view",
	app.CodeOptionInvalid:        "an option is unknown or not available, or violates the bounds of its group",
	app.CodeAmountTooLarge:       "an amount exceeds 2^53-1",
	app.CodeRefundExceedsPayment: "the refund exceeds the refundable amount of the payment",
	app.CodeLimitReached:         "the maximum number of such resources is reached",
	app.CodeOutsideBookingWindow: "the reservation starts outside the store's booking window",
	app.CodeStoreClosed:          "the store takes no orders at this time; details have its nextOpenAt, if known",
	app.CodeIdempotencyKeyReused: "the Idempotency-Key was used for another body",
	app.CodeInternal:             "an internal error, which is logged with the request id",
	app.CodeUnavailable:          "a required service cannot be reached: repeat the request after Retry-After seconds",
}

// csvDescription describes the CSV of operations with rows.
const csvDescription = "A CSV in UTF-8, separated by commas or by semicolons as in its first line, which names the " +
	"columns: " + columnNames + ". An absent column leaves the member as it is; an empty cell clears it. A " +
	"text may have an apostrophe before =, +, -, @ or a tab, which keeps spreadsheets from running it as a formula; the " +
	"import removes one apostrophe. Paths of errors count the rows from 0, without the first line."

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
	if rt.requiresOTP() && rt.byAccessToken() && app.Permissions[rt.Permission].Role != "" {
		codes = append(codes, app.CodeOTPSetupRequired)
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

// notes begin the descriptions of operations, by operationId.
var notes = map[string]string{
	"refresh":            "The response replaces the refresh token in the cookie. Each refresh token is valid once.",
	"refreshCustomer":    "The response replaces the refresh token in the cookie. Each refresh token is valid once.",
	"switchStore":        "The refresh token stays valid; the next refresh is for the new store.",
	"listStores":         "The same stores as in the response of the login.",
	"listUsers":          "Sorted by the time of joining, newest first.",
	"listInvitations":    "Invitations of the store that have neither been accepted nor ended, newest first.",
	"resendInvitation":   "The earlier token becomes invalid. The new one is valid for seven days.",
	"getWebsiteDetails":  "Also with pending invitations of owners and the usage of the plan.",
	"openStore":          "The store has no members; invite its owner afterwards.",
	"inviteOwner":        "Replaces a pending invitation of the same address in the website.",
	"updateStore":        "Changes the name or the country. The other settings are in PATCH /settings.",
	"pauseOrdering":      "Orders of API keys are refused until the given time. Replaces an earlier pause.",
	"resumeOrdering":     "Ends a pause. It has no effect if ordering is not paused.",
	"createStore":        "The caller becomes its OWNER. A website has at most 100 stores.",
	"createStoreView":    "A store has at most 20 views, exactly one of which is the default.",
	"updateStoreView":    "Earlier orders keep their currency.",
	"deleteStoreView":    "The default view cannot be deleted. Orders keep the view in which they were placed.",
	"listAuditEntries":   "Sorted by time, newest first.",
	"createAPIKey":       "The response shows the key once.",
	"listAPIKeys":        "The keys of the store and of its sandbox, newest first.",
	"revokeAPIKey":       "The key is refused from the next request on.",
	"listWebhooks":       "All webhooks of the store, newest first.",
	"listEventTypes":     "Each with its JSON Schema and an example.",
	"updateWebhook":      "Changes the URL or the events, or switches the webhook off or on.",
	"deleteWebhook":      "Cancels the deliveries that have not been delivered.",
	"testWebhook":        "Sends one test.ping immediately, without retries.",
	"getWebhookStats":    "By hour or day.",
	"getDeliveryAttempt": "With the request and the receiver's response.",
	"replayWebhook":      "With dryRun, counts the deliveries without replaying them.",
	"retryDelivery": "Makes the next attempt of a retrying delivery now and returns it. The attempt counts in the " +
		"retry schedule, but not for the plan. Concurrent requests share one attempt.",
	"replayDeliveries":  "With dryRun, counts the deliveries without replaying them.",
	"cancelReplay":      "Queues no more deliveries. Deliveries that are queued are still delivered.",
	"quoteOrder":        "Computes the price without placing the order.",
	"updateProduct":     "A merge patch (RFC 7396): null clears an optional member.",
	"updateCustomer":    "A merge patch (RFC 7396): null clears an optional member.",
	"updateAddress":     "A merge patch (RFC 7396): null clears an optional member.",
	"createWebsite":     "Also invites the first OWNER.",
	"updateWebsite":     "Changes the website, its plan or who manages the plan, or suspends the website.",
	"updateOrderStatus": "Moves the order forward, or cancels it.",
	"listCustomers":     "Newest first. Customers see only themselves.",
	"listCategories":    "Sorted by name.",
	"listReservations":  "Sorted by start, earliest first.",
	"listOrderChanges":  "Oldest first.",
	"listOrderDeliveries": "One row per webhook and event of the order or its payments, oldest first. The stream " +
		"of orders reports each change of a status.",
	"summarizeSales":   "One row per currency.",
	"plotSales":        "One row per bucket of time and currency.",
	"listProductSales": "By currency, highest net sales first.",
	"listOptionSales":  "By currency, highest net sales first.",

	"listSessions":         "The sessions that have not ended, newest first.",
	"listCustomerSessions": "The sessions that have not ended, newest first.",
	"endSession":           "Its tokens are refused from the next request on.",
	"endCustomerSession":   "Its tokens are refused from the next request on.",
	"requestPasswordReset": "The response is the same whether or not the email has a user. The mail has a link that is " +
		"valid once, for an hour. At most five mails are sent to an account per hour.",
	"requestCustomerPasswordReset": "The response is the same whether or not the email has an account. The mail has a " +
		"link that is valid once, for an hour. At most five mails are sent to an account per hour.",
	"resetPassword":         "Ends all sessions of the user. It does not log in.",
	"resetCustomerPassword": "Ends all sessions of the customer. It does not log in.",
	"changePassword":        "Ends all other sessions of the user.",
	"changeCustomerEmail": "Mails a link to the new email, and a notice to the current one. The response is the same " +
		"whether or not another account has the new email. The link is valid for an hour; a newer request, a change of " +
		"the password, and disabling end it. An account without a password gets 409 `CONFLICT`, a service without a mail " +
		"server 503 `UNAVAILABLE`.",
	"confirmCustomerEmail": "The link of the mail leads to a page that sends this request. Emits `customer.updated` " +
		"with `updatedFields` `email`. The sessions of the customer stay.",
	"changeCustomerPassword": "Ends all other sessions of the customer.",

	"listEvents": "In the order of dispatch, newest first by default. An event appears as soon as it is dispatched, and " +
		"counts for the time of an earlier dispatched event if that is later than its own. The cursor is the position " +
		"of an event; it is valid for all filters and orders and as Last-Event-ID of the stream.",
	"getEvent":             "The body is null if it is erased.",
	"listDeliveryAttempts": newestFirst,
	"listReplays":          newestFirst,
	"listDeliveries":       newestFirst,
	"listOrders":           newestFirst,
	"listOrderPayments":    newestFirst,
	"listProducts":         newestFirst,
	"listLoyaltyEntries":   newestFirst,
	"listAddresses":        newestFirst,
	"listWebsites":         newestFirst,
	"eraseCustomer": "Replaces the personal data in the profile, orders, reservations and payments, and ends " +
		"all sessions. Amounts and counts stay. Bodies of events are erased once their deliveries have ended; " +
		"they can no longer be replayed. An open order or reservation is refused.",
	"eraseReservation": "Replaces the personal data of a reservation that has ended, for a guest who is not a customer. " +
		"The reservation remains. Bodies of events are erased once their deliveries have ended; they can no longer be " +
		"replayed. A reservation that is PENDING or CONFIRMED is refused.",
	"exportCustomer": "Returns everything that is kept about the customer, at most 10,000 activities of the " +
		"account.",
	"updateReservation": "Changes a reservation that is PENDING or CONFIRMED. No event is emitted. A change that needs " +
		"no additional seats succeeds even if the store has too few seats.",
	"updateReservationStatus": "Confirms, cancels or completes the reservation, or marks it as a no-show.",

	"listPlatformAuditEntries": "Actions of platform administrators and changes to websites, newest first.",
}

const newestFirst = "Newest first."

// securityOf names the security scheme of each refresh cookie in the document.
var securityOf = map[string]string{userCookie: "cookie", customerCookie: "customerCookie"}

// streamed describes the responses of streams, by operationId.
var streamed = map[string]string{"streamOrders": streamedOrders, "streamEvents": streamedEvents}

const streamedEvents = "The `event` is the type, the `data` is the body of the event, and the `id` is its position. " +
	"Without the header `Last-Event-ID`, the stream starts with the next event; with it, it continues after that " +
	"event. The stream has the order of dispatch, so that an event that is committed late is not skipped. Events whose " +
	"body is erased are omitted. A comment and the current position are sent every 15 seconds. " +
	"A position after which events are erased is refused with 400; then start from `GET /events`. " +
	"It ends when the access token expires, the session ends, the API key is revoked, or the client is 1 MiB " +
	"behind. Then open a new stream with `Last-Event-ID`."

const streamedOrders = "Each change is an event `order` with the data `{\"id\",\"orderId\",\"status\",\"version\"}`. " +
	"A comment is sent every 15 seconds. An open stream reports every order that changes. " +
	"A reminder of an order that was not accepted has `\"reminder\":true`. " +
	"It ends when the access token expires, the session ends or the client is too slow. Then read the changed " +
	"orders (`GET /orders?updatedSince=`) and open a new stream."

// streamExamples are examples of the responses of streams, by operationId.
var streamExamples = map[string]any{
	"streamEvents": "id: cG9zaXRpb24\nevent: order.cancelled\n" +
		`data: {"id":"evt_019ced814dfa7d1fa2b3c4d5e6f70000","type":"order.cancelled","storeId":"sto_1",` +
		`"timestamp":"2026-03-14T18:00:00.250Z","data":{}}` + "\n\n",
	"streamOrders": "event: order\n" +
		`data: {"id":"ord_019ced814dfa7d91a4e5f60718293a4b","orderId":"1042","status":"RECEIVED","version":1}` + "\n\n",
}

// document is the OpenAPI document as a tree of JSON.
var document = sync.OnceValues(func() (map[string]any, error) {
	api := openapi.API{
		Title: "Comanda", Version: "1.0", Description: strings.TrimSpace(introduction),
		Schemes: []openapi.Scheme{
			{Name: "bearer",
				Description: "The access token of POST /auth/login or POST /customer-auth/login, or an API key. " +
					"Credentials are read from this header only."},
			{Name: securityOf[userCookie], Cookie: userCookie,
				Description: "The refresh token, for POST /auth/refresh. It is valid once."},
			{Name: securityOf[customerCookie], Cookie: customerCookie,
				Description: "A customer's refresh token, for POST /customer-auth/refresh. It is valid once."},
			{Name: "signature", Header: "X-Webhook-Signature",
				Description: "The HMAC of a request to a webhook. Receivers verify it with the webhook's secret."},
		},
		Schemas: generator(), License: "Apache-2.0", Servers: servers, Tags: tags, Failures: failures(),
		Events: webhookEvents(),
	}
	for _, rt := range routes() {
		api.Operations = append(api.Operations, described(rt))
	}
	return api.Document()
})

// generator makes the schemas of requests, responses and events.
var generator = sync.OnceValue(func() openapi.Schemas {
	comments, err := openapi.ReadComments("../app", ".")
	must(err)
	return openapi.Schemas{
		Comments: comments, Enums: enums, Failure: failure{},
		Names: schemaNames,
		Open:  map[reflect.Type]string{reflect.TypeFor[app.Code](): "ErrorCode"},
		Types: memberTypes, Members: members, Samples: samples(),
		Lists: map[string]openapi.List{"SubscribableEventType": {
			Text: "The type of an event that a webhook can select.", Values: texts(app.EventTypes[:]),
		}, "ErrorCode": {
			Text:   "The code of an error. Later releases add codes: treat an unknown code by its HTTP status.",
			Values: errorCodes(), Open: true,
		}},
		Patterns: map[reflect.Type]string{reflect.TypeFor[etag](): etagPattern},
		Tags: map[string]openapi.Tag{
			"currency":         {Pattern: "^[A-Z]{3}$"},
			"date":             {Format: "date"},
			"email":            {Format: "email"},
			"https_url":        {Format: "uri"},
			"id":               {Pattern: "^[A-Za-z0-9_-]{1,64}$"},
			"iso3166_1_alpha2": {Pattern: "^[A-Z]{2}$"},
			"clientid":         {Pattern: clientIDPattern},
			"last4":            {Pattern: last4Pattern},
			"clock":            {Pattern: clockPattern},
			"clockend":         {Pattern: clockEndPattern},
			"locale":           {Pattern: localePattern},
			"viewcode":         {Pattern: viewCodePattern},
			"notblank":         {Pattern: `\S`},
			"phone":            {Pattern: phonePattern},
			"provider":         {Pattern: providerPattern},
			"subscribable":     {Enum: "SubscribableEventType"},
			"timezone":         {Pattern: timezonePattern},
		},
	}
})

// idempotencyKey is the header of operations that accept an Idempotency-Key.
type idempotencyKey struct {
	// A request that repeats the key and the body of another request within 24 hours has no further effect. Its
	// response
	// is the same, except that values that are shown once are omitted.
	Key string `header:"Idempotency-Key" minLength:"1" maxLength:"255" pattern:"^[!-~]+$"`
}

// described describes a route.
func described(rt route) openapi.Operation {
	o := openapi.Operation{
		ID: rt.Handler.id, Method: rt.Method, Path: rt.Path, Summary: rt.Summary, Status: rt.Status,
		In: rt.Handler.in, CSV: map[bool]string{true: csvDescription}[rt.Handler.rows],
		Out: rt.Handler.answer, Existing: rt.Handler.repeats, Failures: []int{400, 403, 500, 503},
	}
	text := "No credential is required."
	switch {
	case rt.byAccessToken():
		o.Scheme, text = "bearer", whoMay(rt.Permission)
	case rt.Permission == byRefreshToken:
		o.Scheme, text = securityOf[rt.Cookie], "For clients with the refresh token."
	}
	if note := notes[rt.Handler.id]; note != "" {
		text = note + "\n\n" + text
	}
	if _, stream := o.Out.(eventStream); stream {
		o.Out, o.MediaType = "", "text/event-stream"
		o.Example = streamExamples[o.ID]
		text += "\n\n" + streamed[rt.Handler.id]
	}
	if limits := limitsOf(rt); limits != "" {
		text += "\n\n" + limits
	}
	o.RateLimited, o.Bodyless = rt.byCredential(), rt.Handler.bodyless
	if rt.Idempotent {
		o.Headers = idempotencyKey{}
	}
	if rt.Cookie != "" {
		o.SetCookie = cookieOf(rt)
	}
	if rt.Method != http.MethodGet {
		o.Failures = append(o.Failures, 413, 415)
	}
	for _, code := range codesOf(rt) {
		text += fmt.Sprintf("\n- %d `%s`: %s", statuses[code], code, meanings[code])
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
		texts = append(texts, fmt.Sprintf("%d %s in any %v per %s", most, q.name, spoken[q.window], q.per))
	}
	if rt.Limit.streams > 0 {
		texts = append(texts, fmt.Sprintf("%d open streams per store", rt.Limit.streams))
	}
	if texts == nil {
		return ""
	}
	return "At most " + strings.Join(texts, " and ") + "."
}

// spoken describes the windows of quotas in words.
var spoken = map[time.Duration]string{time.Minute: "minute", time.Hour: "hour"}

// cookieOf returns the refresh cookie that an operation sets or, at the end of a session, clears.
func cookieOf(rt route) string {
	value, age := "…", "604800"
	if rt.byAccessToken() {
		value, age = "", "0"
	}
	return rt.Cookie + "=" + value + "; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=" + age
}

// whoMay describes the callers that have a permission.
func whoMay(permission app.Permission) string {
	grant := app.Permissions[permission]
	var who []string
	switch {
	case grant.Role == app.RoleStaff:
		who = append(who, "every member of the store")
	case grant.Role == app.RoleOwner:
		who = append(who, "members with the role OWNER")
	case grant.Role != "":
		who = append(who, "members with the role "+string(grant.Role)+" or higher")
	}
	if grant.Scope != "" {
		who = append(who, "API keys with the scope "+string(grant.Scope))
	}
	if grant.AnyKey {
		who = append(who, "every API key")
	}
	if grant.Platform {
		who = append(who, "platform administrators")
	}
	if grant.Own {
		who = append(who, "customers (only their own data)")
	}
	if last := len(who) - 1; last > 1 {
		return "For " + strings.Join(who[:last], ", ") + ", and " + who[last] + "."
	}
	return "For " + strings.Join(who, " and ") + "."
}

// constants returns the string constants of a type that a file or folder declares.
func constants(t *testing.T, path, typeName string) (values []string) {
	t.Helper()
	for _, file := range parsed(t, path) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			named, ok := spec.Type.(*ast.Ident)
			if !ok || named.Name != typeName || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				must(err)
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

// parsed parses a Go file or those of a folder.
func parsed(t *testing.T, path string) (files []*ast.File) {
	t.Helper()
	names := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		names, err = filepath.Glob(filepath.Join(path, "*.go"))
		must(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
