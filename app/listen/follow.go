package listen

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app/webhook"
)

// Times of a [Follower].
const (
	firstPause = time.Second      // before the first attempt to connect again
	maxPause   = 30 * time.Second // it doubles up to this
	// silence is the time without a line after which a connection counts as broken. The service sends one every 15 s.
	silence = 45 * time.Second
)

// maxLine is the maximum length of a line of the stream: the body of an event and its prefix.
const maxLine = 4 << 20

// Follower follows the events of a store through GET /events/stream, without a webhook, and forwards them as a worker
// delivers them.
type Follower struct {
	API    *url.URL // base URL of the service
	Key    string   // API key with the scope webhooks:manage
	Events []string // event types; none = all
	Client *http.Client

	// Headers returns the headers of a delivery of an event. Target is the URL to which it is forwarded; nil = it is
	// only printed.
	Headers func(event webhook.Event, body []byte) http.Header
	Target  *url.URL

	Out   io.Writer // receives one line per event
	JSON  bool      // print each line as JSON, see [Forwarded]
	Notes io.Writer // receives notes about the connection

	Now   func() time.Time
	Pause time.Duration // before the first attempt to connect again; 0 = 1 s

	last string // position of the last event
}

// Forwarded is the JSON output for one event of a [Follower].
type Forwarded struct {
	At     time.Time       `json:"at"`
	Event  json.RawMessage `json:"event"`
	Status int             `json:"status,omitempty"`      // of the response; absent if there was none
	TookMS int64           `json:"tookMs,omitempty"`      // duration of the forward
	Error  string          `json:"error,omitempty"`       // why there was no response
	To     string          `json:"forwardedTo,omitempty"` // absent if the event is only printed
}

// errRefused is an error that a further attempt would not resolve.
var errRefused = errors.New("cannot follow the events")

// later is an error after which to wait for the time that the service asks for.
type later struct {
	error

	pause time.Duration
}

// Follow follows the events until ctx is done. After a break it connects again, and continues after the last event. It
// returns an error if the service refuses the key.
func (f *Follower) Follow(ctx context.Context) error {
	first := f.Pause
	if first == 0 {
		first = firstPause
	}
	pause, connected := first, false
	for {
		err := f.connect(ctx, func() {
			if pause > first || !connected {
				fmt.Fprintln(f.Notes, "connected; waiting for events")
			}
			pause, connected = first, true
		})
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the caller has stopped
		case errors.Is(err, errRefused):
			return err
		}
		wait := pause/2 + rand.N(pause/2+1) //nolint:gosec // jitter
		if asked, ok := errors.AsType[later](err); ok {
			wait = max(wait, asked.pause)
		}
		fmt.Fprintf(f.Notes, "connection lost: %v; connecting again in %s\n", err, wait.Round(100*time.Millisecond))
		pause = min(2*pause, maxPause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// connect opens a stream and handles its events until it ends. It calls opened when the stream is open.
func (f *Follower) connect(ctx context.Context, opened func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	address := f.API.JoinPath("events", "stream")
	address.RawQuery = url.Values{"type": f.Events}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+f.Key)
	request.Header.Set("Accept", "text/event-stream")
	if f.last != "" {
		request.Header.Set("Last-Event-ID", f.last)
	}
	response, err := f.Client.Do(request)
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return f.refusal(response)
	}
	opened()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	var position, data string
	for lines.Scan() {
		quiet.Reset(silence)
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if data != "" {
				quiet.Stop() // a slow target is no silence of the service
				f.handle(ctx, []byte(data))
				quiet.Reset(silence)
			}
			if position != "" {
				f.last = position
			}
			position, data = "", ""
		case name == "id":
			position = value
		case name == "data":
			data = value
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return errors.New("the service closed the stream")
}

// refusal returns the error of a response that is no stream.
func (f *Follower) refusal(response *http.Response) error {
	var body struct {
		Error struct{ Code, Message string }
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10)) // without a body, the status remains
	_ = json.Unmarshal(text, &body)
	err := fmt.Errorf("%s: %s", response.Status, printable(body.Error.Message))
	switch status := response.StatusCode; {
	case status == http.StatusBadRequest && f.last != "":
		f.last = ""
		return errors.New("events since the last connection are erased; continuing with the next event")
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return later{err, time.Duration(seconds) * time.Second}
	case body.Error.Code == "INSUFFICIENT_SCOPE":
		return fmt.Errorf("%w: the API key needs the scope webhooks:manage", errRefused)
	}
	return fmt.Errorf("%w: %w", errRefused, err)
}

// handle forwards and prints one event.
func (f *Follower) handle(ctx context.Context, body []byte) {
	var event webhook.Event
	if err := json.Unmarshal(body, &event); err != nil {
		fmt.Fprintln(f.Notes, "the service sent an event that is no JSON:", err)
		return
	}
	line := Forwarded{At: f.Now().UTC(), Event: body}
	text := describe(event)
	if f.Target != nil {
		line.To = f.Target.String()
		begin := time.Now()
		status, err := f.forward(ctx, event, body)
		took := time.Since(begin)
		line.Status, line.TookMS = status, took.Milliseconds()
		text += fmt.Sprintf("  → %d in %d ms", status, line.TookMS)
		if err != nil {
			line.Error = err.Error()
			text = describe(event) + fmt.Sprintf("  ✗ %s after %d ms", printable(line.Error), line.TookMS)
		}
	}
	var out bytes.Buffer
	if f.JSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(line); err != nil {
			panic(err) // impossible: the event is valid JSON
		}
	} else {
		fmt.Fprintf(&out, "%s  %s\n", line.At.Local().Format(time.TimeOnly), text)
	}
	f.Out.Write(out.Bytes()) //nolint:errcheck // a closed output must not end the command
}

// forward posts an event to the target, as a worker does, and returns the status of the response.
func (f *Follower) forward(ctx context.Context, event webhook.Event, body []byte) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, senderTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Target.String(), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = f.Headers(event, body)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil              // the target is local
	transport.DisableKeepAlives = true // the target may restart between requests
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // only the status counts
	return response.StatusCode, nil
}
