package app

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Code identifies an error in responses (docs/behaviour.md#error-codes).
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
	CodeOTPRequired          Code = "OTP_REQUIRED"
	CodeOTPSetupRequired     Code = "OTP_SETUP_REQUIRED"
	CodeReauthentication     Code = "REAUTHENTICATION_REQUIRED"
	CodeHTTPSRequired        Code = "HTTPS_REQUIRED"
	CodeCrossOrigin          Code = "CROSS_ORIGIN"
	CodeWebsiteSuspended     Code = "WEBSITE_SUSPENDED"
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
	CodeOptionInvalid        Code = "OPTION_INVALID"
	CodeAmountTooLarge       Code = "AMOUNT_TOO_LARGE"
	CodeRefundExceedsPayment Code = "REFUND_EXCEEDS_PAYMENT"
	CodeLimitReached         Code = "LIMIT_REACHED"
	CodeOutsideBookingWindow Code = "OUTSIDE_BOOKING_WINDOW"
	CodeStoreClosed          Code = "STORE_CLOSED"
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	CodeInternal             Code = "INTERNAL"
	CodeUnavailable          Code = "UNAVAILABLE"
)

// Detail describes one fault of a request. Path is the member as the client wrote it, for example "items[0].quantity".
type Detail struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Error is an error that the caller can understand and act on. It crosses all layers unchanged. Any other error is
// internal: clients see INTERNAL, and its text appears only in the log.
type Error struct {
	Code    Code
	Message string
	Details []Detail
	// AllowedTransitions lists the possible next statuses. Only INVALID_TRANSITION has it.
	AllowedTransitions []string
	// RetryAfter is the time until a retry can succeed; 0 = unknown. Responses carry whole seconds.
	RetryAfter time.Duration
}

// Error returns the code and the message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first *Error in err's chain, CodeInternal if the chain has none, and "" if err is nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Invalid returns a VALIDATION_FAILED error about one member of the request. The message continues a sentence that
// begins with the path: "must be positive".
func Invalid(path, message string) *Error {
	return InvalidAll([]Detail{{Path: path, Message: message}})
}

// InvalidAll returns a VALIDATION_FAILED error about one or more members of the request.
func InvalidAll(details []Detail) *Error {
	e := &Error{Code: CodeValidationFailed, Message: "the request is invalid; see details", Details: details}
	if len(details) == 1 {
		e.Message = details[0].Message
		if details[0].Path != "" {
			e.Message = details[0].Path + " " + e.Message
		}
	}
	return e
}

// MemberError returns an error with a code about one member of the request, like [Invalid].
func MemberError(code Code, path, message string) *Error {
	return &Error{Code: code, Message: path + " " + message, Details: []Detail{{Path: path, Message: message}}}
}

// InvalidTransition returns an INVALID_TRANSITION error about a change of status.
func InvalidTransition[S ~string](from, to S, allowed []S) *Error {
	e := Errorf(CodeInvalidTransition, "cannot change status from %s to %s", from, to)
	e.AllowedTransitions = make([]string, len(allowed))
	for i, status := range allowed {
		e.AllowedTransitions[i] = string(status)
	}
	return e
}

// TotalMismatch returns TOTAL_MISMATCH, with the total of an order as the detail totalMinor.
func TotalMismatch(total, expected int64) *Error {
	e := Errorf(CodeTotalMismatch, "the order costs %d, not %d as in expectedTotalMinor; request a new quote", total,
		expected)
	e.Details = []Detail{{Path: "totalMinor", Message: strconv.FormatInt(total, 10)}}
	return e
}

// NotFound returns the NOT_FOUND error for a row that does not exist or that the caller cannot access. Both cases have
// the same bytes (docs/behaviour.md#resources-of-another-store).
func NotFound() *Error {
	return &Error{Code: CodeNotFound, Message: "resource not found"}
}

// StoreMismatch returns the STORE_MISMATCH error for a resource of another store than the token's.
func StoreMismatch() *Error {
	return &Error{Code: CodeStoreMismatch, Message: "the token is scoped to another store; use POST /auth/switch-store"}
}

// TokenInvalid returns the TOKEN_INVALID error for a credential that is missing, malformed, forged or of another realm.
// The message does not distinguish these cases.
func TokenInvalid() *Error {
	return &Error{Code: CodeTokenInvalid, Message: "the access token or API key is missing or invalid"}
}

// OTPSetupRequired returns the error for a user without one-time passwords in a store that requires them, and for a
// platform administrator without them.
func OTPSetupRequired() *Error {
	return Errorf(CodeOTPSetupRequired, "one-time passwords are required; switch them on with POST /auth/otp")
}

// ReauthenticationRequired returns the error for an operation that requires a recent proof of identity
// (docs/behaviour.md#recent-proof-of-identity).
func ReauthenticationRequired() *Error {
	return Errorf(CodeReauthentication,
		"the login was more than an hour ago; give the password again with POST /auth/reauthenticate")
}

// WebsiteSuspended returns the WEBSITE_SUSPENDED error for a valid credential of a suspended website
// (docs/behaviour.md#suspended-websites).
func WebsiteSuspended() *Error {
	return &Error{
		Code: CodeWebsiteSuspended, Message: "the website is suspended; contact the operator of this service",
	}
}

// RateLimited returns the RATE_LIMITED error for a request that can succeed after wait.
func RateLimited(wait time.Duration) *Error {
	return &Error{
		Code: CodeRateLimited, RetryAfter: wait,
		Message: "too many requests; wait the number of seconds in the Retry-After header",
	}
}

// Unavailable returns the UNAVAILABLE error for a dependency that cannot be reached.
func Unavailable(retryAfter time.Duration) *Error {
	return &Error{
		Code: CodeUnavailable, Message: "the service is temporarily unavailable; retry later", RetryAfter: retryAfter,
	}

}
