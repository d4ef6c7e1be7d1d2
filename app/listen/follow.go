package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// Follower follows the events of a store through GET /events/stream, without a webhook, and forwards them as a worker
// delivers them.
type Follower struct {
	API    *url.URL // base URL of the service
	Key    string   // API key with the scope webhooks:manage
	Events []string // event types; none = all
	Client *http.Client

	// Headers returns the headers of a delivery of an event. Target is the URL to which it is forwarded; nil = it is
	// only printed.
	Headers func(Event) http.Header
	Target  *url.URL

	Out   io.Writer // receives one line per event
	JSON  bool      // print each line as JSON, see [Forwarded]
	Notes io.Writer // receives notes about the connection

	Now func() time.Time
}

// Event is an event that a [Follower] follows.
type Event = comanda.StreamedEvent

// Forwarded is the JSON output for one event of a [Follower].
type Forwarded struct {
	At     time.Time       `json:"at"`
	Event  json.RawMessage `json:"event"`
	Status int             `json:"status,omitempty"`      // of the response; absent if there was none
	TookMS int64           `json:"tookMs,omitempty"`      // duration of the forward
	Error  string          `json:"error,omitempty"`       // why there was no response
	To     string          `json:"forwardedTo,omitempty"` // absent if the event is only printed
}

// Follow follows the events until ctx is done. After a break it connects again, and continues after the last event. It
// returns an error if the service refuses the key.
func (f *Follower) Follow(ctx context.Context) error {
	client, err := comanda.New(f.API.String(), comanda.Config{APIKey: f.Key, HTTP: f.Client})
	if err != nil {
		return err
	}
	failed := true // the last attempt to connect
	params := comanda.StreamEventsParams{
		Connected: func() {
			if failed {
				fmt.Fprintln(f.Notes, "connected; waiting for events")
			}
			failed = false
		},
		Interrupted: func(err error, pause time.Duration) {
			fmt.Fprintf(f.Notes, "connection lost: %s; connecting again in %s\n", printable(cause(err)),
				pause.Round(100*time.Millisecond))
			failed = true
		},
	}
	for _, name := range f.Events {
		params.Types = append(params.Types, comanda.ListedEventType(name))
	}
	for {
		err := f.forwardAll(ctx, client.StreamEvents(ctx, params))
		refused, _ := errors.AsType[*comanda.Error](err)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the caller has stopped
		case errors.Is(err, comanda.ErrEventsErased):
			fmt.Fprintln(f.Notes, "events since the last connection are erased; continuing with the next event")
		case refused != nil && refused.Code == comanda.ErrorCodeInsufficientScope:
			return errors.New("cannot follow the events: the API key needs the scope webhooks:manage")
		default:
			return fmt.Errorf("cannot follow the events: %w", err)
		}
	}
}

// cause returns the reason of a failed request without its URL, which would fill the line.
func cause(err error) string {
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err
	}
	return err.Error()
}

// forwardAll handles the events of a stream until its error.
func (f *Follower) forwardAll(ctx context.Context, events iter.Seq2[comanda.StreamedEvent, error]) error {
	for event, err := range events {
		if err != nil {
			return err
		}
		f.handle(ctx, event)
	}
	return nil
}

// handle forwards and prints one event.
func (f *Follower) handle(ctx context.Context, event comanda.StreamedEvent) {
	line := Forwarded{At: f.Now().UTC(), Event: event.Body}
	text := describe(event.Event)
	if f.Target != nil {
		line.To = f.Target.String()
		begin := time.Now()
		status, err := f.forward(ctx, event)
		took := time.Since(begin)
		line.Status, line.TookMS = status, took.Milliseconds()
		text += fmt.Sprintf("  → %d in %d ms", status, line.TookMS)
		if err != nil {
			line.Error = err.Error()
			text = describe(event.Event) + fmt.Sprintf("  ✗ %s after %d ms", printable(line.Error), line.TookMS)
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
func (f *Follower) forward(ctx context.Context, event comanda.StreamedEvent) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, senderTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Target.String(), bytes.NewReader(event.Body))
	if err != nil {
		return 0, err
	}
	request.Header = f.Headers(event)
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
