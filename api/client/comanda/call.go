package comanda

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// call is one operation with its arguments.
type call struct {
	method, path string
	ids          []string // values of the placeholders in path
	params, body any
	public       bool // needs no credential
	keyed        bool // accepts an Idempotency-Key
	safe         bool // has no effect
	signsIn      bool // returns an access token
	signsOut     bool
}

// request is a call as it is sent, possibly several times.
type request struct {
	call
	url    string
	header http.Header
	body   []byte
}

// envelope is the body of every response. It has Data or Error.
type envelope struct {
	Data  json.RawMessage
	Meta  json.RawMessage
	Error *Error
}

func fetch[T any](ctx context.Context, c *Client, in call, options []CallOption) (*T, error) {
	var out envelope
	if err := c.do(ctx, in, &out, options); err != nil {
		return nil, err
	}
	value := new(T)
	return value, in.decode(out.Data, value)
}

// do sends a call. If the access token has expired, it refreshes the token and sends the call again.
func (c *Client) do(ctx context.Context, in call, out *envelope, options []CallOption) error {
	if out == nil {
		out = &envelope{}
	}
	r, err := c.prepare(in, options)
	if err != nil {
		return err
	}
	token, err := c.attempt(ctx, r, out)
	if refused, ok := errors.AsType[*Error](err); ok && refused.Code == ErrorCodeTokenExpired && !in.public &&
		c.config.APIKey == "" && token != "" {
		if err := c.refresh(ctx, token); err != nil {
			return err
		}
		_, err = c.attempt(ctx, r, out)
	}
	return err
}

// attempt sends a request with the token of the session, and returns that token. A request that changes the session
// waits for its turn.
func (c *Client) attempt(ctx context.Context, r *request, out *envelope) (token string, err error) {
	if r.signsIn || r.signsOut {
		if err := c.session.lock(ctx); err != nil {
			return "", err
		}
		defer c.session.unlock()
	}
	token = c.session.current()
	err = c.send(ctx, r, token, out)
	switch {
	case err != nil:
		return token, err
	case r.signsIn:
		return token, c.signIn(r.call, out.Data)
	case r.signsOut:
		c.session.forget()
	}
	return token, nil
}

func (c *Client) prepare(in call, options []CallOption) (*request, error) {
	path := in.path
	for _, id := range in.ids {
		if id == "" || id == "." || id == ".." {
			return nil, fmt.Errorf("comanda: %s %s: %q is not an id", in.method, in.path, id)
		}
		before, after, _ := strings.Cut(path, "{")
		_, after, _ = strings.Cut(after, "}")
		path = before + url.PathEscape(id) + after
	}
	r := &request{call: in, url: c.base + path + query(in.params), header: http.Header{}}
	r.header.Set("Accept", "application/json")
	r.header.Set("User-Agent", "comanda-go")
	if in.body != nil {
		var err error
		if r.body, err = json.Marshal(in.body); err != nil {
			return nil, fmt.Errorf("comanda: %s %s: %w", in.method, in.path, err)
		}
		r.header.Set("Content-Type", "application/json")
	}
	if in.keyed {
		r.header.Set("Idempotency-Key", rand.Text())
	}
	for _, option := range options {
		option(r.header)
	}
	return r, nil
}

// optional returns a body as any, which is nil if there is none.
func optional[T any](body *T) any {
	if body == nil {
		return nil
	}
	return body
}

// query encodes the members of a struct of parameters that are not zero.
func query(params any) string {
	values := url.Values{}
	if params != nil {
		of := reflect.ValueOf(params)
		for i := range of.NumField() {
			add(values, of.Type().Field(i).Tag.Get("query"), of.Field(i))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

func add(values url.Values, name string, value reflect.Value) {
	switch {
	case value.IsZero():
	case value.Kind() == reflect.Pointer:
		values.Add(name, fmt.Sprint(value.Elem()))
	case value.Kind() == reflect.Slice:
		for i := range value.Len() {
			values.Add(name, fmt.Sprint(value.Index(i)))
		}
	default:
		if at, ok := value.Interface().(time.Time); ok {
			values.Add(name, at.UTC().Format(time.RFC3339Nano))
			return
		}
		values.Add(name, fmt.Sprint(value))
	}
}

// send sends a request until it succeeds, cannot be repeated or has been repeated often enough.
func (c *Client) send(ctx context.Context, r *request, token string, out *envelope) error {
	for repetition := 0; ; repetition++ {
		err := c.once(ctx, r, token, out)
		if err == nil || repetition >= c.config.MaxRetries || !r.repeatable(err) || ctx.Err() != nil {
			return err
		}
		pause := c.pause(err, repetition)
		deadline, limited := ctx.Deadline()
		if pause > c.config.MaxWait || limited && time.Until(deadline) < pause {
			return err
		}
		if waiting := c.wait(ctx, pause); waiting != nil {
			return errors.Join(waiting, err)
		}
	}
}

// once sends a request once and decodes its response.
func (c *Client) once(ctx context.Context, r *request, token string, out *envelope) error {
	sent, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return fmt.Errorf("comanda: %w", err)
	}
	sent.Header = r.header.Clone()
	if credential := c.credential(token); credential != "" && !r.public {
		sent.Header.Set("Authorization", "Bearer "+credential)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return fmt.Errorf("comanda: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("comanda: %s %s: cannot read the response: %w", r.method, r.path, err)
	}
	if response.StatusCode == http.StatusNoContent {
		return nil
	}
	*out = envelope{}
	err = json.Unmarshal(text, out)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return refusal(r.call, response, out.Error)
	}
	if err != nil {
		return fmt.Errorf("comanda: %s %s: the response is not JSON: %w", r.method, r.path, err)
	}
	return nil
}

func (c *Client) credential(token string) string {
	if c.config.APIKey != "" {
		return c.config.APIKey
	}
	return token
}

func (in call) decode(data json.RawMessage, value any) error {
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("comanda: %s %s: the response is not as documented: %w", in.method, in.path, err)
	}
	return nil
}

// repeatable reports whether a request can be repeated after an error without having an effect twice.
func (r *request) repeatable(err error) bool {
	harmless := r.safe || r.keyed
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		operation, ok := errors.AsType[*net.OpError](err)
		_, complete := errors.AsType[*json.SyntaxError](err) // a response, but not of the service
		return harmless && !complete || ok && operation.Op == "dial"
	}
	switch refused.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return harmless
	}
	return refused.Code == ErrorCodeIdempotencyKeyInUse
}

// pause returns the wait before a repetition: Retry-After, or half a second to one second, doubled each time.
func (c *Client) pause(err error, repetition int) time.Duration {
	if refused, ok := errors.AsType[*Error](err); ok && refused.RetryAfter > 0 {
		return refused.RetryAfter
	}
	longest := min(time.Second<<min(repetition, 10), c.config.MaxWait)
	return longest/2 + time.Duration(c.jitter()*float64(longest/2))
}
