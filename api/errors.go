package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// statuses says with which HTTP status each refusal is answered (spec, Errors; contract §1).
var statuses = map[app.Code]int{
	app.CodeTokenExpired:      http.StatusUnauthorized,
	app.CodeTokenInvalid:      http.StatusUnauthorized,
	app.CodeTokenRevoked:      http.StatusUnauthorized,
	app.CodeAPIKeyRevoked:     http.StatusUnauthorized,
	app.CodeInsufficientRole:  http.StatusForbidden,
	app.CodeInsufficientScope: http.StatusForbidden,
	app.CodeStoreMismatch:     http.StatusForbidden,
	app.CodeRateLimited:       http.StatusTooManyRequests,

	app.CodeValidationFailed:     http.StatusBadRequest,
	app.CodeInvalidCredentials:   http.StatusUnauthorized,
	app.CodeHTTPSRequired:        http.StatusForbidden,
	app.CodeCrossOrigin:          http.StatusForbidden,
	app.CodeNotFound:             http.StatusNotFound,
	app.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	app.CodeConflict:             http.StatusConflict,
	app.CodeLastOwner:            http.StatusConflict,
	app.CodeEmailTaken:           http.StatusConflict,
	app.CodeAccountLinkRequired:  http.StatusConflict,
	app.CodeDeliveryInProgress:   http.StatusConflict,
	app.CodePayloadErased:        http.StatusConflict,
	app.CodeVersionMismatch:      http.StatusConflict,
	app.CodeInvalidTransition:    http.StatusConflict,
	app.CodeSlotFull:             http.StatusConflict,
	app.CodeTotalMismatch:        http.StatusConflict,
	app.CodeIdempotencyKeyInUse:  http.StatusConflict,
	app.CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	app.CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	app.CodeProductUnavailable:   http.StatusUnprocessableEntity,
	app.CodePriceNotSet:          http.StatusUnprocessableEntity,
	app.CodeAmountTooLarge:       http.StatusUnprocessableEntity,
	app.CodeRefundExceedsPayment: http.StatusUnprocessableEntity,
	app.CodeLimitReached:         http.StatusUnprocessableEntity,
	app.CodeOutsideBookingWindow: http.StatusUnprocessableEntity,
	app.CodeIdempotencyKeyReused: http.StatusUnprocessableEntity,
	app.CodeInternal:             http.StatusInternalServerError,
	app.CodeUnavailable:          http.StatusServiceUnavailable,
}

// statusClientGone stands in the log and the metrics for a request whose client did not
// wait for the answer. It never goes over the wire.
const statusClientGone = 499

// failure is the body of every refusal.
type failure struct {
	Success bool      `json:"success"` // always false
	Error   errorBody `json:"error"`
}

type errorBody struct {
	StatusCode int          `json:"statusCode"` // the HTTP status
	Code       app.Code     `json:"code"`
	Message    string       `json:"message"`           // for people
	Details    []app.Detail `json:"details,omitempty"` // each fault of the request, where that helps
	// of INVALID_TRANSITION: what can be made of it instead
	AllowedTransitions []string      `json:"allowedTransitions,omitzero"`
	RequestID          app.RequestID `json:"requestId"` // as in X-Request-Id
}

// refuse answers with an error. It is the only place that does. What is not an *app.Error
// is ours to fix: it goes to the log, and the client learns nothing but the request id.
func (s *Server) refuse(x *exchange, r *http.Request, err error) {
	refusal := s.explain(x, r.Context(), err)
	x.code = refusal.Code
	status := statuses[refusal.Code]
	if status == http.StatusUnauthorized {
		x.Header().Set("WWW-Authenticate", "Bearer")
	}
	if refusal.RetryAfter > 0 {
		x.Header().Set("Retry-After", strconv.FormatInt(int64((refusal.RetryAfter+time.Second-1)/time.Second), 10))
	}
	body, err := encode(failure{Error: errorBody{
		StatusCode: status, Code: refusal.Code, Message: refusal.Message, Details: refusal.Details,
		AllowedTransitions: refusal.AllowedTransitions, RequestID: x.id,
	}})
	if err != nil { // never: there is nothing in it that cannot be encoded
		x.log.Error().Err(err).Msg("an error could not be encoded")
	}
	send(x, status, body)
	if errors.Is(r.Context().Err(), context.Canceled) {
		x.status = statusClientGone
	}
}

// explain turns an error into what the client is told, and logs what the client is not.
func (s *Server) explain(x *exchange, ctx context.Context, err error) *app.Error {
	refusal, ok := errors.AsType[*app.Error](err)
	ours := !ok || refusal.Code == app.CodeInternal || statuses[refusal.Code] == 0
	switch {
	case errors.Is(ctx.Err(), context.Canceled) && (ours || refusal.Code == app.CodeUnavailable):
		return app.Unavailable(time.Second) // nobody listens any more
	case ours && errors.Is(ctx.Err(), context.DeadlineExceeded):
		x.log.Warn().Err(err).Msg("the request took too long")
		return app.Unavailable(time.Second)
	case ours:
		x.log.Error().Err(err).Msg("internal error")
		return app.Errorf(app.CodeInternal, "something went wrong; it has been logged under request id %s", x.id)
	case refusal.Code == app.CodeUnavailable:
		x.log.Warn().Err(err).Msg("unavailable")
	}
	return refusal
}

func methodNotAllowed(x *exchange, allowed []string) error {
	x.Header().Set("Allow", strings.Join(allowed, ", "))
	return app.Errorf(app.CodeMethodNotAllowed, "this path allows %s only", strings.Join(allowed, ", "))
}
