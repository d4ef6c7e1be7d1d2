package app

import (
	"errors"
	"fmt"
	"time"
)

// Code names a refusal for programs. The first eight are the spec's (Errors), the
// others contract §1's.
type Code string

const (
	CodeTokenExpired      Code = "TOKEN_EXPIRED"
	CodeTokenInvalid      Code = "TOKEN_INVALID"
	CodeTokenRevoked      Code = "TOKEN_REVOKED"
	CodeAPIKeyRevoked     Code = "API_KEY_REVOKED"
	CodeInsufficientRole  Code = "INSUFFICIENT_ROLE"
	CodeInsufficientScope Code = "INSUFFICIENT_SCOPE"
	CodeStoreMismatch     Code = "STORE_MISMATCH"
	CodeRateLimited       Code = "RATE_LIMITED"

	CodeValidationFailed     Code = "VALIDATION_FAILED"
	CodeInvalidCredentials   Code = "INVALID_CREDENTIALS"
	CodeHTTPSRequired        Code = "HTTPS_REQUIRED"
	CodeCrossOrigin          Code = "CROSS_ORIGIN"
	CodeNotFound             Code = "NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeConflict             Code = "CONFLICT"
	CodeLastOwner            Code = "LAST_OWNER"
	CodeEmailTaken           Code = "EMAIL_TAKEN"
	CodeAccountLinkRequired  Code = "ACCOUNT_LINK_REQUIRED"
	CodeDeliveryInProgress   Code = "DELIVERY_IN_PROGRESS"
	CodePayloadErased        Code = "PAYLOAD_ERASED"
	CodeVersionMismatch      Code = "VERSION_MISMATCH"
	CodeInvalidTransition    Code = "INVALID_TRANSITION"
	CodeSlotFull             Code = "SLOT_FULL"
	CodeTotalMismatch        Code = "TOTAL_MISMATCH"
	CodeIdempotencyKeyInUse  Code = "IDEMPOTENCY_KEY_IN_USE"
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeProductUnavailable   Code = "PRODUCT_UNAVAILABLE"
	CodePriceNotSet          Code = "PRICE_NOT_SET"
	CodeAmountTooLarge       Code = "AMOUNT_TOO_LARGE"
	CodeRefundExceedsPayment Code = "REFUND_EXCEEDS_PAYMENT"
	CodeLimitReached         Code = "LIMIT_REACHED"
	CodeOutsideBookingWindow Code = "OUTSIDE_BOOKING_WINDOW"
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	CodeInternal             Code = "INTERNAL"
	CodeUnavailable          Code = "UNAVAILABLE"
)

// Detail points at one fault of a request: Path names the member as the client wrote
// it ("items[0].quantity").
type Detail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is a refusal that the caller can understand and act on. It crosses all layers
// unchanged; any other error is ours to fix, and its text stays in the log.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	// AllowedTransitions is where things can go instead, for INVALID_TRANSITION alone.
	AllowedTransitions []string
	// RetryAfter tells when to try again; 0 = nothing to say. Whole seconds on the wire.
	RetryAfter time.Duration
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the *Error in err's chain: CodeInternal when there is
// none, "" when err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Invalid is the refusal of one member of a request.
func Invalid(path, message string) *Error {
	return InvalidAll([]Detail{{Path: path, Message: message}})
}

// InvalidAll is the refusal of a request for each of the faults found in it.
func InvalidAll(details []Detail) *Error {
	e := &Error{Code: CodeValidationFailed, Message: "the request is not valid", Details: details}
	if len(details) == 1 {
		e.Message = details[0].Message
		if details[0].Path != "" {
			e.Message = details[0].Path + " " + e.Message
		}
	}
	return e
}

// InvalidTransition is the refusal of a change of status that is none of the allowed ones.
func InvalidTransition[S ~string](from, to S, allowed []S) *Error {
	e := Errorf(CodeInvalidTransition, "what is %s cannot become %s", from, to)
	e.AllowedTransitions = make([]string, len(allowed))
	for i, status := range allowed {
		e.AllowedTransitions[i] = string(status)
	}
	return e
}

// NotFound is the refusal for a row that does not exist or that the caller must not
// know of: the same bytes for both (contract §2).
func NotFound() *Error {
	return &Error{Code: CodeNotFound, Message: "there is nothing here"}
}

// StoreMismatch is the refusal for something of a store that the token is not scoped to.
func StoreMismatch() *Error {
	return &Error{Code: CodeStoreMismatch, Message: "the token is scoped to another store; use POST /auth/switch-store"}
}

// TokenInvalid is the refusal of a credential that is missing, malformed, tampered with
// or of another realm. It never says which.
func TokenInvalid() *Error {
	return &Error{Code: CodeTokenInvalid, Message: "the access token is missing or not valid"}
}

// RateLimited is the refusal of a request that comes too early: what it asks for is
// possible once wait has passed.
func RateLimited(wait time.Duration) *Error {
	return &Error{Code: CodeRateLimited, Message: "too many requests; wait as Retry-After says", RetryAfter: wait}
}

// Unavailable is the refusal while something that we depend on is out of reach.
func Unavailable(retryAfter time.Duration) *Error {
	return &Error{Code: CodeUnavailable, Message: "the service is temporarily unavailable", RetryAfter: retryAfter}
}
