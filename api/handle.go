package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// call is one request of a known route, with the results of the steps that it has passed.
type call struct {
	route     *route
	request   *http.Request
	exchange  *exchange
	now       time.Time
	body      []byte            // JSON; nil = none
	rowFaults []app.Detail      // of rows of the body; the handler refuses them
	principal app.Principal     // zero on routes without an access token
	refresh   refreshToken      // zero except on routes by refresh token
	website   app.WebsiteID     // of a request without an access token; "" = it names none that exists
	once      *persistence.Once // nil on routes that do not accept an Idempotency-Key
	memory    memory            // of the body
	places    *places           // of the work in progress; nil = not counted
}

// steps are the checks of a call in the fixed order of refusal (docs/behaviour.md#order-of-refusal), up to role and
// scope; then the limit of the website's work in progress and the rows of the body. The endpoint binds and validates
// the call and checks the store; the handler checks existence and business rules.
var steps = [...]func(*Server, context.Context, *call) error{
	(*Server).checkOrigin,
	(*Server).readBody,
	(*Server).limitCaller,
	(*Server).authenticate,
	(*Server).limitPrincipal,
	(*Server).authorize,
	(*Server).enterWork,
	(*Server).readRows,
}

// endpoint is a type-erased handler.
type endpoint struct {
	id        string               // operationId in the OpenAPI document
	in        reflect.Type         // a struct with path, query, header and json tags
	body      bool                 // in has json members
	bodyless  bool                 // the body can be absent
	resource  persistence.Resource // the table of the row that {id} identifies; "" = none
	withStore []int                // the index of the field of in that must name the token's store; nil = none
	response  any                  // an empty response body, for the OpenAPI document
	codes     []app.Code           // errors of the business rules, for the OpenAPI document
	rows      bool                 // the body is an array of rows in JSON or CSV, see readRows
	repeats   bool                 // an object that existed before is returned with status 200
	run       func(*Server, context.Context, *call) (any, error)
}

// resources are the tables of rows that {id} in a path identifies, by the type of the id.
var resources = map[reflect.Type]persistence.Resource{
	reflect.TypeFor[app.APIKeyID]():       persistence.APIKeys,
	reflect.TypeFor[app.CustomerID]():     persistence.Customers,
	reflect.TypeFor[app.DeliveryID]():     persistence.Deliveries,
	reflect.TypeFor[app.EventID]():        persistence.Events,
	reflect.TypeFor[app.InvitationID]():   persistence.Invitations,
	reflect.TypeFor[app.OrderID]():        persistence.Orders,
	reflect.TypeFor[app.PaymentID]():      persistence.Payments,
	reflect.TypeFor[app.ProductID]():      persistence.Products,
	reflect.TypeFor[app.ReplayID]():       persistence.Replays,
	reflect.TypeFor[app.ReservationID]():  persistence.Reservations,
	reflect.TypeFor[app.StoreViewID]():    persistence.StoreViews,
	reflect.TypeFor[app.SubscriptionID](): persistence.Subscriptions,
	reflect.TypeFor[app.UserID]():         persistence.Members,
}

// orExisting marks an endpoint whose method returns an object that an earlier, identical request
// created, even without an Idempotency-Key.
func (e endpoint) orExisting() endpoint {
	e.repeats = true
	return e
}

// orWithoutBody marks an endpoint whose members are all optional, so that the body can be absent.
func (e endpoint) orWithoutBody() endpoint {
	e.bodyless = true
	return e
}

// documented sets the response body for the OpenAPI document, if the Go type of the real one contains encoded JSON.
func (e endpoint) documented(response any) endpoint {
	e.response = response
	return e
}

// handle makes an endpoint of a method that takes a bound and validated In and returns the data of
// the response, or a list. id is the operationId; codes are the errors of the business rules.
func handle[In, Out any](
	id string, method func(*Server, context.Context, *call, In) (Out, error), codes ...app.Code,
) endpoint {
	e := endpoint{id: id, in: reflect.TypeFor[In](), codes: codes}
	for _, field := range reflect.VisibleFields(e.in) {
		e.body = e.body || field.Tag.Get("json") != ""
		if field.Tag.Get("path") == "id" {
			e.resource = resources[field.Type]
		}
		if field.Type == reflect.TypeFor[app.StoreID]() && field.Tag.Get("store") != "any" {
			e.withStore = field.Index
		}
		if field.Type == reflect.TypeFor[etag]() {
			e.codes = append(e.codes, app.CodeVersionMismatch)
		}
	}
	var none Out
	e.response = envelop(none)
	e.run = func(s *Server, ctx context.Context, c *call) (any, error) {
		var in In
		if err := c.bind(&in); err != nil {
			return nil, err
		}
		out, err := method(s, ctx, c, in)
		if err != nil {
			return nil, err
		}
		return envelop(out), nil
	}
	return e
}

// success is the body of a successful response.
type success[T any] struct {
	Success bool `json:"success"`
	Data    T    `json:"data"`
}

// nothing is the result of operations without a response body (204).
type nothing struct{}

func (nothing) envelop() any { return nil }

// enveloped is implemented by results that make the whole body of the response, not only its data.
type enveloped interface{ envelop() any }

func envelop[T any](out T) any {
	if whole, ok := any(out).(enveloped); ok {
		return whole.envelop()
	}
	return success[T]{true, out}
}

// serve handles a request to a route.
func (s *Server) serve(x *exchange, r *http.Request, rt *route) {
	x.route = rt
	if rt.accepts(app.RealmCustomer) {
		if err := s.allowWebsite(x, r); err != nil {
			s.refuse(x, r, err)
			return
		}
	}
	c := &call{route: rt, request: r, exchange: x, now: app.At(x.start).Time}
	response, err := s.response(r.Context(), c)
	if err != nil {
		s.refuse(x, r, err)
		return
	}
	if c.once != nil && c.once.Repeated {
		x.Header().Set("Idempotent-Replayed", "true")
	}
	switch response := response.(type) {
	case nil:
		x.WriteHeader(rt.Status)
	case written:
	case eventStream:
		response(x)
	case encoded:
		s.reply(c, response)
	}
}

// encoded is a response in JSON.
type encoded []byte

// reply sends the response to a call.
func (s *Server) reply(c *call, body encoded) {
	if c.route.Method == http.MethodGet && len(body) > smallBody { // a change that is made is not refused
		sent, err := s.responses.take(c.owner(), int64(len(body)))
		if err != nil {
			s.refuse(c.exchange, c.request, err)
			return
		}
		defer sent.shrink(0)
	}
	status := c.route.Status
	if c.route.Handler.repeats && c.once.Existed {
		status = http.StatusOK
	}
	send(c.exchange, status, body)
}

// response returns the response to a call: nil, [written], an [eventStream] or [encoded]. It encodes in the places of
// the call, so that few large responses are built concurrently.
func (s *Server) response(ctx context.Context, c *call) (any, error) {
	defer c.memory.shrink(0)
	defer func() { c.places.leave() }()
	for _, step := range steps {
		if err := step(s, ctx, c); err != nil {
			return nil, err
		}
	}
	response, err := c.route.Handler.run(s, ctx, c)
	// Only users can be members of other stores.
	resource := c.route.Handler.resource
	if resource != "" && c.principal.UserID != "" && app.CodeOf(err) == app.CodeNotFound {
		if err := s.enterAcross(ctx, c); err != nil {
			return nil, err
		}
		return nil, s.db.MismatchOrNotFound(ctx, resource, c.id(), c.principal)
	}
	if err != nil {
		return nil, err
	}
	switch response.(type) {
	case nil, written, eventStream:
		return response, nil
	}
	body, err := encode(response)
	return encoded(body), err
}

// websiteID returns the website that bounds the request, "" while it is unknown.
func (c *call) websiteID() app.WebsiteID { return cmp.Or(c.principal.WebsiteID, c.website) }

// owner returns the website that bounds the request or, while it is unknown, the client network.
func (c *call) owner() string { return cmp.Or(string(c.websiteID()), ClientNetwork(c.exchange.client)) }

// afterwards returns the call for work that goes on after its response. Its body is released before.
func (c *call) afterwards() *call {
	after := *c
	after.body, after.rowFaults, after.places = nil, nil, nil
	return &after
}

// id returns the {id} of the path, "" if it is not a valid id.
func (c *call) id() string { return c.idIn("id") }

// idIn returns the id in a variable of the path, "" if it is not a valid id.
func (c *call) idIn(place string) string {
	if id := mux.Vars(c.request)[place]; app.IsID(id) {
		return id
	}
	return ""
}

// actor returns the principal and the client address for the audit trail. Before authentication it has
// the address only.
func (c *call) actor() app.Actor {
	actor := c.principal.Actor(c.exchange.client.String(), c.exchange.id)
	actor.UserAgent = userAgent(c.request.Header)
	return actor
}

// userAgent returns the printable characters of the User-Agent header, at most app.MaxUserAgent.
func userAgent(header http.Header) string {
	text := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, header.Get("User-Agent")))
	return string(text[:min(len(text), app.MaxUserAgent)])
}

// checkOrigin refuses requests of other sites' pages to routes that use cookies
// (docs/behaviour.md#cross-origin-requests).
func (s *Server) checkOrigin(_ context.Context, c *call) error {
	if c.route.guarded() && c.exchange.website == "" && s.origins.Check(c.request) != nil {
		return crossOrigin()
	}
	return nil
}

// bodyMustBeObject is the message about a body that is empty or another JSON value.
const bodyMustBeObject = "the body must be a JSON object"

// readBody checks the size, the media type and the syntax of the body. The members are checked after the credential,
// and the rows of an import are not even read before it. Only operations with members require a body.
func (s *Server) readBody(ctx context.Context, c *call) error {
	if c.route.Handler.rows {
		return c.announceRows()
	}
	body, err := s.readAll(ctx, c)
	if err != nil {
		return err
	}
	if len(body) == 0 {
		if c.route.Handler.body && !c.route.Handler.bodyless {
			return app.Errorf(app.CodeValidationFailed, bodyMustBeObject)
		}
		return nil
	}
	if !isText(c.request.Header, "application/json") {
		return app.Errorf(app.CodeUnsupportedMediaType,
			"the Content-Type must be application/json in UTF-8, without a Content-Encoding")
	}
	c.body = body
	return checkSyntax(body)
}

// checkSyntax returns an error unless body is exactly one JSON value in UTF-8. It builds no values, because it checks
// bodies of unknown callers.
func checkSyntax(body []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if _, err := decoder.ReadValue(); err != nil {
		return notJSON(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return notJSON(err)
	}
	return nil
}

// notJSON returns the error of a body with a fault of syntax. A nil err is a second value after the body's.
func notJSON(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return app.Errorf(app.CodeValidationFailed, "the body is not valid JSON in UTF-8 near byte %d",
			syntax.ByteOffset+1)
	}
	return app.Errorf(app.CodeValidationFailed, "the body must be one JSON value in UTF-8")
}

// pathOf returns the path of a JSON pointer as in details of errors: items[0].quantity.
func pathOf(pointer jsontext.Pointer) string {
	path := ""
	for token := range pointer.Tokens() {
		if len(path) > maxPathBytes { // deep objects have long paths
			break
		}
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			path += "[" + token + "]"
		} else {
			path = member(path, token)
		}
	}
	return strings.ToValidUTF8(cut(path, maxPathBytes), "\ufffd")
}

// encode encodes a response. Lists are never null, and the members of maps are sorted, so that a repeated
// request gets the same bytes. The encoder does not search for duplicate names: Go's types and stored JSON have none.
func encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true), jsontext.AllowDuplicateNames(true))
}

func send(x *exchange, status int, body []byte) {
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	x.Write(body) // an error means that the client is gone
}
