package comanda

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Error is a refusal of the service. Programs branch on Code, or on StatusCode if the code is unknown.
type Error struct {
	Operation  string    // method and path, such as "POST /orders"
	StatusCode int       // HTTP status
	Code       ErrorCode // "" if the response is not from the service, but from a proxy for example
	Message    string    // for developers
	Details    []Detail  // faults of the request, if any
	// AllowedTransitions lists the possible statuses if the code is INVALID_TRANSITION.
	AllowedTransitions []string
	RequestID          string        // identifies the request in the log of the service
	RetryAfter         time.Duration // 0 if the response has no Retry-After
}

// Error returns the operation, the status, the code, the message, the faults and the request id.
func (e *Error) Error() string {
	text := fmt.Sprintf("comanda: %s: %d", e.Operation, e.StatusCode)
	if e.Code != "" {
		text += " " + string(e.Code)
	}
	text += ": " + e.Message
	for _, detail := range e.Details {
		text += fmt.Sprintf("; %s: %s", detail.Path, detail.Message)
	}
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

// UnmarshalJSON decodes the members that have the documented types. Others must not hide the code of the error.
func (e *Error) UnmarshalJSON(text []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	for name, target := range map[string]any{
		"code": &e.Code, "message": &e.Message, "details": &e.Details, "requestId": &e.RequestID,
		"allowedTransitions": &e.AllowedTransitions,
	} {
		_ = json.Unmarshal(members[name], target)
	}
	return nil
}

// refusal returns the error of a response. Its body may not be one of the service.
func refusal(in call, response *http.Response, decoded *Error) *Error {
	e := &Error{}
	if decoded != nil {
		e = decoded
	}
	e.Operation, e.StatusCode = in.method+" "+in.path, response.StatusCode
	if e.Message == "" {
		e.Message = http.StatusText(response.StatusCode)
	}
	if e.RequestID == "" {
		e.RequestID = response.Header.Get("X-Request-Id")
	}
	e.RetryAfter = retryAfter(response.Header)
	return e
}

// retryAfter reads seconds or a date. The date is relative to the clock of the sender.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}
