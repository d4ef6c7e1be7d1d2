package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// call is one request of a known route on its way through the steps.
type call struct {
	route     *route
	request   *http.Request
	exchange  *exchange
	now       time.Time
	body      []byte            // JSON without duplicate members; nil = none
	principal app.Principal     // zero on routes without an access token
	refresh   refreshToken      // on routes by refresh token
	once      *persistence.Once // nil on routes that take no Idempotency-Key
}

// steps is the order in which a call can be refused before it is bound and validated
// (contract §1); what comes after that is in endpoint.run and the handler.
var steps = [...]func(*Server, context.Context, *call) error{
	(*Server).checkOrigin,
	(*Server).readBody,
	(*Server).limitCaller,
	(*Server).authenticate,
	(*Server).limitPrincipal,
	(*Server).authorize,
}

// endpoint is a handler that has its types taken off.
type endpoint struct {
	name      string       // of the method
	in        reflect.Type // a struct with path, query and json tags
	body      bool         // in has json members
	answer    any          // an empty answer, for the document
	run       func(*Server, context.Context, *call) (any, error)
	withStore int        // the field of in that names the store and must name the token's, -1 = none
	codes     []app.Code // business refusals, for the document
	repeats   bool       // what is there already is no refusal: the status is 200 then
}

// orExisting is for creations that find what a repeated request has created before, even
// without an Idempotency-Key, and answer with that.
func (e endpoint) orExisting() endpoint {
	e.repeats = true
	return e
}

// handle makes an endpoint of a method that takes a bound and validated In and returns the
// data of the answer, or a whole list. codes are those of the business rules.
func handle[In, Out any](method func(*Server, context.Context, *call, In) (Out, error), codes ...app.Code) endpoint {
	name := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	e := endpoint{name: name[strings.LastIndex(name, ".")+1:], in: reflect.TypeFor[In](), withStore: -1, codes: codes}
	for i := range e.in.NumField() {
		field := e.in.Field(i)
		e.body = e.body || field.Tag.Get("json") != ""
		if field.Type == reflect.TypeFor[app.StoreID]() && field.Tag.Get("store") != "any" {
			e.withStore = i
		}
	}
	var none Out
	e.answer = envelop(none)
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

// success is the body of an answer.
type success[T any] struct {
	Success bool `json:"success"` // always true
	Data    T    `json:"data"`
}

// nothing is the answer of operations that have none: 204, without a body.
type nothing struct{}

func (nothing) envelop() any { return nil }

// enveloped is implemented by what is more than the data of an answer.
type enveloped interface{ envelop() any }

func envelop[T any](out T) any {
	if whole, ok := any(out).(enveloped); ok {
		return whole.envelop()
	}
	return success[T]{true, out}
}

// serve takes a request through all steps.
func (s *Server) serve(x *exchange, r *http.Request, rt *route) {
	x.route = rt
	if rt.forCustomers() {
		s.allowWebsite(x, r)
	}
	c := &call{route: rt, request: r, exchange: x, now: x.start}
	answer, err := s.answer(r.Context(), c)
	if err != nil {
		s.refuse(x, r, err)
		return
	}
	if answer == nil {
		x.WriteHeader(rt.status)
		return
	}
	if stream, ok := answer.(eventStream); ok {
		stream(x)
		return
	}
	body, err := encode(answer)
	if err != nil {
		s.refuse(x, r, err)
		return
	}
	status := rt.status
	if rt.endpoint.repeats && c.once.Existed {
		status = http.StatusOK
	}
	send(x, status, body)
}

func (s *Server) answer(ctx context.Context, c *call) (any, error) {
	for _, step := range steps {
		if err := step(s, ctx, c); err != nil {
			return nil, err
		}
	}
	answer, err := c.route.endpoint.run(s, ctx, c)
	if replayed, ok := errors.AsType[*persistence.Replayed](err); ok {
		return success[jsontext.Value]{true, replayed.Data}, nil
	}
	if c.route.resource != "" && app.CodeOf(err) == app.CodeNotFound {
		return nil, s.db.Elsewhere(ctx, c.route.resource, c.id(), c.principal)
	}
	return answer, err
}

// id returns the {id} of the path, "" when it can be none.
func (c *call) id() string { return c.idIn("id") }

// idIn returns the id at a place of the path, "" when it can be none.
func (c *call) idIn(place string) string {
	if id := mux.Vars(c.request)[place]; app.IsID(id) {
		return id
	}
	return ""
}

// actor returns who makes the request, and from where; as long as there is no principal, the
// latter alone.
func (c *call) actor() app.Actor { return c.principal.Actor(c.exchange.client.String(), c.exchange.id) }

// checkOrigin keeps other sites from using a browser's cookies or logging it in.
func (s *Server) checkOrigin(_ context.Context, c *call) error {
	if !strings.HasPrefix(c.route.path, "/auth/") && !strings.HasPrefix(c.route.path, "/customer-auth/") {
		return nil
	}
	if c.exchange.website == "" && s.origins.Check(c.request) != nil {
		return crossOrigin()
	}
	return nil
}

// maxBody is how many bytes a request's body may have.
const maxBody = 1 << 20

// readBody reads the body and checks its size, its type and its syntax, nothing else: what
// it means is not looked at before the credential. Only operations that take members need
// a body.
func (s *Server) readBody(_ context.Context, c *call) error {
	tooLarge := app.Errorf(app.CodePayloadTooLarge, "the body must not have more than %d bytes", maxBody)
	if c.request.ContentLength > maxBody {
		return tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.exchange, c.request.Body, maxBody))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge
	}
	if err != nil {
		return app.Errorf(app.CodeValidationFailed, "the body did not arrive")
	}
	if len(body) == 0 {
		if c.route.endpoint.body {
			return app.Errorf(app.CodeValidationFailed, "the body must be a JSON object")
		}
		return nil
	}
	if !isJSON(c.request.Header) {
		return app.Errorf(app.CodeUnsupportedMediaType, "the body must be application/json in UTF-8, without a Content-Encoding")
	}
	c.body = body
	return checkSyntax(body)
}

func isJSON(header http.Header) bool {
	types := header.Values("Content-Type")
	if len(types) != 1 || header.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	charset, declared := params["charset"]
	return err == nil && mediaType == "application/json" && (!declared || strings.EqualFold(charset, "utf-8"))
}

// checkSyntax refuses what is not exactly one JSON value in UTF-8, what names a member
// twice, and strings with a NUL, which PostgreSQL cannot keep.
func checkSyntax(body []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			syntax, _ := errors.AsType[*jsontext.SyntacticError](err)
			return app.Invalid(pathOf(syntax.JSONPointer), "is given twice")
		}
		if err != nil {
			return notJSON(decoder)
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return app.Invalid(pathOf(decoder.StackPointer()), "must not contain NUL")
		}
		if decoder.StackDepth() == 0 {
			break
		}
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return notJSON(decoder)
	}
	return nil
}

func notJSON(decoder *jsontext.Decoder) error {
	return app.Errorf(app.CodeValidationFailed, "the body is not JSON in UTF-8 from about byte %d on", decoder.InputOffset()+1)
}

// pathOf turns a JSON pointer into a path as a client writes it: items[0].quantity.
func pathOf(pointer jsontext.Pointer) string {
	path := ""
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			path += "[" + token + "]"
		} else {
			path = member(path, token)
		}
	}
	return path
}

// encode makes the bytes of an answer. Lists are never null, and what was stored for an
// Idempotency-Key has the same bytes as the first time.
func encode(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

// stored is an answer's data as it is kept for an Idempotency-Key.
type stored struct{ data any }

func (s stored) MarshalJSON() ([]byte, error) { return encode(s.data) }

func send(x *exchange, status int, body []byte) {
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(status)
	x.Write(body) // if it fails, nobody is left to be told
}
