package comanda

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app/webhook"
)

// Times of a stream.
const (
	firstPause = time.Second      // before the first attempt to connect again
	maxPause   = 30 * time.Second // it doubles up to this
	// silence is the time without a line after which a connection counts as broken. The service sends one every 15 s.
	silence = 45 * time.Second
)

// maxLine is the maximum length of a line of a stream: the body of an event and its prefix.
const maxLine = 4 << 20

// ErrEventsErased is the error of [Client.StreamEvents] if the service no longer has all events after the given
// position. Read the stored ones with [Client.AllEvents], or continue with the next event.
var ErrEventsErased = errors.New("comanda: events after the last position are erased")

var errClosed = errors.New("the service closed the stream")

// StreamEventsParams are parameters of [Client.StreamEvents].
type StreamEventsParams struct {
	// Only events of these types; none = all.
	Types []ListedEventType
	// The cursor of the last handled event. The stream continues after it. "" = start with the next event.
	LastEventID string
	// Connected is called when the stream is open, also after a break; nil = nothing.
	Connected func()
	// Interrupted is called after a break, with its reason and the time until the next attempt to connect.
	Interrupted func(err error, pause time.Duration)
}

// StreamedEvent is an event of [Client.StreamEvents].
type StreamedEvent struct {
	webhook.Event

	Body   []byte // the event as JSON, as webhooks receive it
	Cursor string // the LastEventID of a stream that continues after this event, and a cursor of [Client.AllEvents]
}

// StreamEvents sends GET /events/stream and iterates over the events of the store, in the order of dispatch. After a
// break, also because the program read too slowly, it connects again after 1 to 30 seconds and continues after the last
// event: none is skipped, and none is repeated. A program that continues after a restart stores the cursor of the
// last event that it has handled.
//
// It ends with an error if ctx is done, if the service refuses the stream or responds with another content type, if the
// session is lost, or with [ErrEventsErased].
//
// For members with the role ADMIN or higher and API keys with the scope webhooks:manage.
func (c *Client) StreamEvents(ctx context.Context, params StreamEventsParams) iter.Seq2[StreamedEvent, error] {
	return func(yield func(StreamedEvent, error) bool) {
		s := &eventStream{Client: c, params: params, cursor: params.LastEventID, yield: yield}
		if err := s.follow(ctx); err != nil {
			yield(StreamedEvent{}, err)
		}
	}
}

// eventStream is one iteration of [Client.StreamEvents].
type eventStream struct {
	*Client

	params StreamEventsParams
	cursor string // after which the next connection continues
	yield  func(StreamedEvent, error) bool
	failed int // consecutive attempts to connect that failed
}

// follow returns nil if the caller has ended the iteration.
func (s *eventStream) follow(ctx context.Context) error {
	for {
		token := s.session.current()
		err := s.connect(ctx, token)
		if expired, ok := errors.AsType[*Error](err); ok && expired.Code == ErrorCodeTokenExpired &&
			s.config.APIKey == "" && token != "" {
			if err = s.refresh(ctx, token); err == nil {
				continue
			}
			if ctx.Err() == nil && s.session.current() == "" {
				return err
			}
		}
		refused, _ := errors.AsType[*Error](err)
		_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case refused == nil && !untrusted, refused != nil && temporary(refused):
		case refused != nil && s.cursor != "" && names(refused, "Last-Event-ID"):
			return fmt.Errorf("%w: %w", ErrEventsErased, err)
		default:
			return err
		}
		longest := min(firstPause<<min(s.failed, 10), maxPause)
		pause := longest/2 + time.Duration(s.jitter()*float64(longest/2))
		if refused != nil {
			pause = max(pause, refused.RetryAfter)
		}
		s.failed++
		if s.params.Interrupted != nil {
			s.params.Interrupted(err, pause)
		}
		if err := s.wait(ctx, pause); err != nil {
			return err
		}
	}
}

// temporary reports whether a later attempt to connect may succeed after a refusal.
func temporary(e *Error) bool {
	return e.StatusCode == http.StatusTooManyRequests || e.StatusCode >= http.StatusInternalServerError
}

// names reports whether a refusal names a faulty parameter.
func names(e *Error, parameter string) bool {
	for _, detail := range e.Details {
		if detail.Path == parameter {
			return true
		}
	}
	return false
}

// connect opens a stream and passes on its events. It returns nil if the caller has ended the iteration.
func (s *eventStream) connect(ctx context.Context, token string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("the service has sent nothing for %s", silence))
	})
	defer quiet.Stop()
	response, err := s.open(ctx, token)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	s.failed = 0
	if s.params.Connected != nil {
		s.params.Connected()
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	var event StreamedEvent
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			quiet.Stop() // a slow caller is no silence of the service
			if !s.pass(event) {
				return nil
			}
			quiet.Reset(silence)
			event = StreamedEvent{}
		case name == "id":
			event.Cursor = value
		case name == "position":
			event.Position, _ = strconv.ParseInt(value, 10, 64)
		case name == "resource":
			event.Resource = value
		case name == "data":
			event.Body = []byte(value)
		}
	}
	return broken(ctx, cmp.Or(lines.Err(), errClosed))
}

// broken returns the error of a connection: the reason for which it was cancelled, if it was.
func broken(ctx context.Context, err error) error {
	return fmt.Errorf("comanda: GET /events/stream: %w", cmp.Or(context.Cause(ctx), err))
}

// open sends the request.
func (s *eventStream) open(ctx context.Context, token string) (*http.Response, error) {
	in := call{method: http.MethodGet, path: "/events/stream", params: struct {
		Type []ListedEventType `query:"type"`
	}{s.params.Types}}
	r, err := s.prepare(in, nil)
	if err != nil {
		return nil, err
	}
	r.header.Set("Accept", "text/event-stream")
	if s.cursor != "" {
		r.header.Set("Last-Event-ID", s.cursor)
	}
	if credential := s.credential(token); credential != "" {
		r.header.Set("Authorization", "Bearer "+credential)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, r.url, nil)
	if err != nil {
		return nil, fmt.Errorf("comanda: %w", err)
	}
	request.Header = r.header
	endless := s.http
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return nil, broken(ctx, err)
	}
	contentType := response.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(contentType)
	if response.StatusCode == http.StatusOK && media == "text/event-stream" {
		return response, nil
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil, refusal(in, response, &Error{
			Message: fmt.Sprintf("the Content-Type is %q, want text/event-stream", contentType),
		})
	}
	var out envelope
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // without a body, the status remains
	_ = json.Unmarshal(text, &out)
	return nil, refusal(in, response, out.Error)
}

// pass passes on an event, unless a message has none, and moves the cursor. It reports whether the caller wants more.
func (s *eventStream) pass(event StreamedEvent) bool {
	more := true
	if len(event.Body) > 0 {
		err := json.Unmarshal(event.Body, &event.Event)
		if err != nil {
			err = fmt.Errorf("comanda: GET /events/stream: the event is not as documented: %w", err)
		}
		more = s.yield(event, err)
	}
	if event.Cursor != "" {
		s.cursor = event.Cursor
	}
	return more
}
