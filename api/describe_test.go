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

// securityOf names the security scheme of each refresh cookie in the document.
var securityOf = map[string]string{userCookie: "cookie", customerCookie: "customerCookie"}

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
