package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/comanda-dev/comanda/app"
)

var streamEvents = handle("streamEvents", (*Server).streamEvents)

type streamEventsIn struct {
	// Only events of these types. Repeat the parameter for several types.
	Type []app.EventType `query:"type" validate:"eventfilter"`
	// The position of the last received event. The stream continues after it.
	LastEventID string `header:"Last-Event-ID" validate:"cursor"`
}

// streamEvents streams the events of the store in the order of dispatch. It returns VALIDATION_FAILED if events after
// the last received one are erased. The stream ends when the credential is no longer valid, when the client is too
// slow, or on errors; then the client opens a new stream with the position of its last event.
func (s *Server) streamEvents(ctx context.Context, c *call, in streamEventsIn) (eventStream, error) {
	after, err := s.startOf(ctx, c, in.LastEventID)
	if err != nil {
		return nil, err
	}
	if err := s.openStream(ctx, c); err != nil {
		return nil, err
	}
	r, err := s.events.join(ctx, c.principal.StoreID, distinct(in.Type))
	if err != nil {
		s.closeStream(c)
		return nil, err
	}
	return func(x *exchange) {
		defer s.closeStream(c)
		defer s.events.leave(r)
		s.sendEvents(x, c, r, after)
	}, nil
}

// startOf returns the position after which a stream starts.
func (s *Server) startOf(ctx context.Context, c *call, last string) (int64, error) {
	store := c.principal.StoreID
	if last == "" {
		return s.db.EventHead(ctx, store)
	}
	after, ok := s.openPosition(store, last)
	if ok {
		kept, err := s.db.HasEventsAfter(ctx, store, after)
		if err != nil {
			return 0, err
		}
		ok = kept
	}
	if !ok {
		return 0, app.Invalid("Last-Event-ID",
			"is unknown or older than the oldest stored event; read GET /events and continue from there")
	}
	return after, nil
}

// sendEvents writes the events after a position until the stream ends.
func (s *Server) sendEvents(x *exchange, c *call, r *eventReader, last int64) {
	x.Header().Set("Content-Type", "text/event-stream")
	x.Header().Set("X-Accel-Buffering", "no") // for proxies
	control := http.NewResponseController(x)
	_ = control.SetReadDeadline(time.Time{}) // removes that of the request; not supported by test recorders
	x.WriteHeader(http.StatusOK)
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	write := func(text string) bool { return s.writeEvent(x, control, text) == nil }
	position := func() string {
		return "id: " + s.sealPosition(c.principal.StoreID, s.events.passed(r, last)) + "\n\n"
	}
	if !write(fmt.Sprintf("retry: %d\n", retryWatchingIn.Milliseconds()) + position()) {
		return
	}
	current := false
	always := make(chan struct{})
	close(always)
	for {
		history := always
		if current {
			history = nil
		}
		select {
		case <-history:
			mark := s.events.mark(r)
			next, more, err := s.sendHistory(x.open, r, last, write)
			if err != nil {
				return
			}
			last = next
			if !more {
				last = max(last, mark)
				current = s.events.follow(r, last)
			}
		case <-r.ready:
			m, ok := s.events.next(r)
			if ok && m.position > last {
				if !write(m.text) {
					return
				}
				last = m.position
			}
			s.events.wrote(r, m)
		case <-beat.C:
			if s.mayStill(x.open, c) != nil || !write(": still here\n"+position()) {
				return
			}
		case <-r.late:
			return
		case <-r.listener.ended:
			return
		case <-x.open.Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// errGone means that the client does not read.
var errGone = errors.New("the client of a stream is gone")

// sendHistory writes the next stored events after a position. It returns the position of the last one, and whether
// there may be more.
func (s *Server) sendHistory(
	ctx context.Context, r *eventReader, last int64, write func(string) bool,
) (to int64, more bool, err error) {
	page, err := s.db.Events(ctx, r.of.id, app.EventFilter{Types: r.types}, true, last, eventPage)
	if err != nil {
		return last, false, err
	}
	for _, e := range page {
		if text := s.eventText(r.of.id, e); text != "" && !write(text) {
			return last, false, errGone
		}
		last = e.Position
	}
	return last, len(page) == eventPage, nil
}

// eventText returns the text of an event in a stream, "" if its body is erased.
func (s *Server) eventText(store app.StoreID, e app.StoredEvent) string {
	if e.Body == nil {
		return ""
	}
	return "event: " + string(e.Type) + "\nid: " + s.sealPosition(store, e.Position) + "\ndata: " + string(e.Body) + "\n\n"
}
