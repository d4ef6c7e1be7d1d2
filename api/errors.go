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

// statuses are the HTTP statuses of error codes (docs/behaviour.md#error-codes).
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
	app.CodeOTPRequired:          http.StatusUnauthorized,
	app.CodeOTPSetupRequired:     http.StatusForbidden,
	app.CodeReauthentication:     http.StatusForbidden,
	app.CodeHTTPSRequired:        http.StatusForbidden,
	app.CodeCrossOrigin:          http.StatusForbidden,
	app.CodeWebsiteSuspended:     http.StatusForbidden,
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
	app.CodeOptionInvalid:        http.StatusUnprocessableEntity,
	app.CodeAmountTooLarge:       http.StatusUnprocessableEntity,
	app.CodeRefundExceedsPayment: http.StatusUnprocessableEntity,
	app.CodeLimitReached:         http.StatusUnprocessableEntity,
	app.CodeOutsideBookingWindow: http.StatusUnprocessableEntity,
	app.CodeStoreClosed:          http.StatusUnprocessableEntity,
	app.CodeIdempotencyKeyReused: http.StatusUnprocessableEntity,
	app.CodeInternal:             http.StatusInternalServerError,
	app.CodeUnavailable:          http.StatusServiceUnavailable,
}

// statusClientGone is the status, in the log and the metrics only, of a request whose client disconnected
// before the response.
const statusClientGone = 499

// failure is the body of every error response.
type failure struct {
	Success bool      `json:"success"`
	Error   errorBody `json:"error"`
}

type errorBody struct {
	StatusCode         int           `json:"statusCode"`
	Code               app.Code      `json:"code"`
	Message            string        `json:"message"`
	Details            []app.Detail  `json:"details,omitempty"`
	AllowedTransitions []string      `json:"allowedTransitions,omitzero"`
	RequestID          app.RequestID `json:"requestId"`
}

// refuse sends an error response. An error that is not an *app.Error is logged; the client gets only the
// request id.
func (s *Server) refuse(x *exchange, r *http.Request, err error) {
	refusal := s.explain(x, r.Context(), err)
	x.code = refusal.Code
	status := statuses[refusal.Code]
	if status == http.StatusUnauthorized {
		x.Header().Set("WWW-Authenticate", "Bearer")
	}
	if refusal.RetryAfter > 0 {
		x.Header().Set("Retry-After", strconv.FormatInt(seconds(refusal.RetryAfter), 10))
	}
	body, err := encode(failure{Error: errorBody{
		StatusCode: status, Code: refusal.Code, Message: refusal.Message, Details: refusal.Details,
		AllowedTransitions: refusal.AllowedTransitions, RequestID: x.id,
	}})
	if err != nil { // impossible: all values can be encoded
		x.log.Error().Err(err).Msg("error response cannot be encoded")
	}
	send(x, status, body)
	if errors.Is(r.Context().Err(), context.Canceled) {
		x.status = statusClientGone
	}
}

// explain returns the error that the client gets, and logs other errors.
func (s *Server) explain(x *exchange, ctx context.Context, err error) *app.Error {
	refusal, ok := errors.AsType[*app.Error](err)
	ours := !ok || refusal.Code == app.CodeInternal || statuses[refusal.Code] == 0
	switch {
	case errors.Is(ctx.Err(), context.Canceled) && (ours || refusal.Code == app.CodeUnavailable):
		return app.Unavailable(time.Second) // the client is gone
	case ours && errors.Is(ctx.Err(), context.DeadlineExceeded):
		x.log.Warn().Err(err).Msg("request timed out")
		return app.Unavailable(time.Second)
	case ours:
		x.log.Error().Err(err).Msg("internal error")
		return app.Errorf(app.CodeInternal, "internal error; report the request id %s", x.id)
	case refusal.Code == app.CodeUnavailable:
		x.log.Warn().Err(err).Msg("unavailable")
	}
	return refusal
}

func methodNotAllowed(x *exchange, allowed []string) error {
	x.Header().Set("Allow", strings.Join(allowed, ", "))
	return app.Errorf(app.CodeMethodNotAllowed, "this path allows %s only", strings.Join(allowed, ", "))
}
