package comanda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stream sends text as a stream of events and ends it. The request must continue after a position.
func (s *service) stream(after, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Last-Event-ID"); got != after || r.Header.Get("Accept") != "text/event-stream" {
			s.t.Errorf("request: got Last-Event-ID %q, want %q: %v", got, after, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, text)
		_ = http.NewResponseController(w).Flush()
	}
}

// sent is an event of a stream with a number.
func sent(number int) string {
	return fmt.Sprintf("event: order.created\nid: p%d\ndata: {\"id\":\"evt_%d\",\"type\":\"order.created\","+
		"\"storeId\":\"sto_1\",\"timestamp\":\"2026-03-14T12:00:00.000Z\",\"data\":{}}\n\n", number, number)
}

// A stream continues after breaks and temporary refusals behind the last position, which heartbeats move too. It ends
// with a lasting refusal.
func TestStreamContinues(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.responses = handlers(
		s.stream("p0", "retry: 2000\nid: p0\n\n"+sent(1)+": still here\nid: p5\n\n"+"id: p9\ndata: {\"half"),
		refuse(503, "UNAVAILABLE", "Retry-After", "7"),
		refuse(502, ""),
		refuse(502, ""),
		s.stream("p5", sent(6)+sent(7)),
		func(w http.ResponseWriter, r *http.Request) {
			s.stream("p7", sent(8))(w, r)
			panic(http.ErrAbortHandler)
		},
		refuse(403, "INSUFFICIENT_SCOPE"),
	)
	c, waits := s.client(Config{APIKey: "svc_live_sk_1"})
	connected, interrupted := 0, 0
	params := StreamEventsParams{
		Types:       []ListedEventType{ListedEventTypeOrderCreated, ListedEventTypePaymentFailed},
		LastEventID: "p0", Connected: func() { connected++ },
		Interrupted: func(error, time.Duration) { interrupted++ },
	}
	var got []string
	var last error
	for event, err := range c.StreamEvents(t.Context(), params) {
		if last = err; err == nil {
			got = append(got, event.ID+" "+event.Cursor)
			if !strings.HasPrefix(string(event.Body), `{"id":"`+event.ID) || event.Type != "order.created" {
				t.Errorf("event: got %+v with the body %s", event.Event, event.Body)
			}
		}
	}
	if want := []string{"evt_1 p1", "evt_6 p6", "evt_7 p7", "evt_8 p8"}; !slices.Equal(got, want) {
		t.Errorf("events: got %q, want %q", got, want)
	}
	if refused, ok := errors.AsType[*Error](last); !ok || refused.Code != ErrorCodeInsufficientScope {
		t.Errorf("end: got %v, want INSUFFICIENT_SCOPE", last)
	}
	want := []time.Duration{
		750 * time.Millisecond, 7 * time.Second, 3 * time.Second, 6 * time.Second, // until the stream is open again
		750 * time.Millisecond, 750 * time.Millisecond,
	}
	if !slices.Equal(*waits, want) || connected != 3 || interrupted != len(want) {
		t.Errorf("waits: got %v after %d connections and %d breaks, want %v", *waits, connected, interrupted, want)
	}
	if line := s.requests[0].line; line != "GET /events/stream?type=order.created&type=payment.failed" ||
		s.requests[0].authorization != "Bearer svc_live_sk_1" {
		t.Errorf("request: got %s with %q", line, s.requests[0].authorization)
	}
}

// The caller learns that events after its position are erased, and decides.
func TestStreamAfterErasedEvents(t *testing.T) {
	t.Parallel()
	erased := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"success":false,"error":{"code":"VALIDATION_FAILED","message":"no",
			"details":[{"path":"Last-Event-ID","message":"is unknown"}]}}`)
	}
	s := newService(t, erased, erased)
	c, waits := s.client(Config{APIKey: "x"})
	for last, want := range map[string]bool{"p1": true, "": false} {
		var errs []error
		for _, err := range c.StreamEvents(t.Context(), StreamEventsParams{LastEventID: last}) {
			errs = append(errs, err)
		}
		if len(errs) != 1 || errors.Is(errs[0], ErrEventsErased) != want || len(*waits) > 0 {
			t.Errorf("after %q: got %v and waits %v, want ErrEventsErased: %t", last, errs, *waits, want)
		}
	}
}

// A connection without heartbeats is replaced. The time in which the caller handles an event does not count.
func TestStreamIsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connections, handled := 0, make(chan struct{}, 1)
		transport := roundTripper(func(r *http.Request) (*http.Response, error) {
			connections++
			body, w := io.Pipe()
			context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
			events := []string{sent(1), sent(2)}
			if connections > 1 {
				events = []string{sent(3)}
			}
			go func() {
				for _, event := range events {
					if _, err := io.WriteString(w, event); err != nil {
						t.Errorf("connection %d: %v", connections, err)
					}
					select {
					case <-handled:
					case <-r.Context().Done():
					}
				}
			}()
			header := http.Header{"Content-Type": {"text/event-stream"}}
			return &http.Response{StatusCode: http.StatusOK, Header: header, Body: body}, nil
		})
		c, err := New("https://orders.example", Config{APIKey: "x", HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		var got, breaks []string
		params := StreamEventsParams{Interrupted: func(err error, _ time.Duration) {
			breaks = append(breaks, err.Error())
		}}
		for event, err := range c.StreamEvents(t.Context(), params) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s of connection %d", event.Cursor, connections))
			time.Sleep(2 * silence)
			handled <- struct{}{}
			if event.Cursor == "p3" {
				break
			}
		}
		want := []string{"p1 of connection 1", "p2 of connection 1", "p3 of connection 2"}
		if !slices.Equal(got, want) {
			t.Errorf("events: got %q, want %q", got, want)
		}
		if len(breaks) != 1 || !strings.Contains(breaks[0], "has sent nothing for 45s") {
			t.Errorf("breaks: got %q, want one because of silence", breaks)
		}
	})
}

// roundTripper responds to a request without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A stream that ends with its access token continues with a new one.
func TestStreamRefreshesItsToken(t *testing.T) {
	t.Parallel()
	s := newService(t, respond(200, `{"accessToken":"first"}`), refuse(401, "TOKEN_EXPIRED"),
		respond(200, `{"accessToken":"second"}`))
	s.responses = append(s.responses, s.stream("", sent(1)))
	c, waits := s.client(Config{})
	if _, err := c.Login(t.Context(), LoginRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.StreamEvents(t.Context(), StreamEventsParams{}) {
		if err != nil || len(*waits) > 0 || s.requests[3].authorization != "Bearer second" {
			t.Errorf("got %v after waits %v and %+v, want an event with the second token", err, *waits, s.requests)
		}
		break
	}
}

// While the service cannot be reached or refuses for a time, a refresh of the token is a break. The stream ends with
// the session.
func TestStreamRepeatsItsRefresh(t *testing.T) {
	t.Parallel()
	expired := refuse(401, "TOKEN_EXPIRED")
	s := newService(t, respond(200, `{"accessToken":"first"}`),
		expired, // the connection for the refresh fails
		expired, refuse(429, "RATE_LIMITED", "Retry-After", "60"),
		expired, respond(200, `{"accessToken":"second"}`))
	s.responses = append(s.responses, s.stream("", sent(1)), expired, refuse(401, "TOKEN_REVOKED"))
	c, waits := s.client(Config{MaxRetries: -1})
	if _, err := c.Login(t.Context(), LoginRequest{}); err != nil {
		t.Fatal(err)
	}
	transport, down := c.http.Transport, true
	c.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/auth/refresh" && down {
			down = false
			return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
		}
		return transport.RoundTrip(r)
	})
	var got []string
	var last error
	for event, err := range c.StreamEvents(t.Context(), StreamEventsParams{}) {
		if last = err; err == nil {
			got = append(got, event.Cursor)
		}
	}
	if refused, ok := errors.AsType[*Error](last); !ok || refused.Code != ErrorCodeTokenRevoked {
		t.Errorf("end: got %v, want TOKEN_REVOKED", last)
	}
	want := []time.Duration{750 * time.Millisecond, time.Minute, 750 * time.Millisecond}
	if !slices.Equal(got, []string{"p1"}) || !slices.Equal(*waits, want) {
		t.Errorf("got the events %q after waits %v, want p1 after %v", got, *waits, want)
	}
}

// Another response than a stream, such as the page of a proxy, ends the stream.
func TestStreamOfAnotherType(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"text/html; charset=utf-8", "application/json", ""} {
		s := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{contentType}
			fmt.Fprint(w, "<html>\n\n</html>\n")
		})
		c, waits := s.client(Config{APIKey: "x"})
		var errs []error
		for _, err := range c.StreamEvents(t.Context(), StreamEventsParams{}) {
			errs = append(errs, err)
		}
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), fmt.Sprintf("Content-Type is %q", contentType)) ||
			len(*waits) > 0 {
			t.Errorf("%q: got %v after waits %v, want one error that names the type", contentType, errs, *waits)
		}
	}
}

// The end of the context ends an open stream and a wait.
func TestStreamIsCancelled(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]http.HandlerFunc{
		"open": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, sent(1))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
		"waiting": refuse(503, "UNAVAILABLE"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, response)
			c, _ := s.client(Config{APIKey: "x"})
			ctx, cancel := context.WithCancel(t.Context())
			params := StreamEventsParams{Interrupted: func(error, time.Duration) { cancel() }}
			var last error
			for _, err := range c.StreamEvents(ctx, params) {
				last = err
				cancel()
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("got %v, want %v", last, context.Canceled)
			}
		})
	}
}
