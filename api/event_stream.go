package api

import (
	"context"
	"strconv"
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
// the last received one are erased. When a stream ends, the client opens a new one with the position of its last event.
func (s *Server) streamEvents(ctx context.Context, c *call, in streamEventsIn) (eventStream, error) {
	after, err := s.startOf(ctx, c, in.LastEventID)
	if err != nil {
		return nil, err
	}
	store := c.principal.StoreID
	return s.stream(ctx, c, streamOf{
		hub:      s.eventFeed.hub,
		join:     func() (*streamReader, error) { return s.eventFeed.join(ctx, c.principal, distinct(in.Type), after) },
		position: func(r *streamReader) string { return "id: " + s.sealPosition(store, s.eventFeed.passed(r)) + "\n" },
		catchUp:  s.sendHistory,
	})
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

// sendHistory writes the next stored events to a reader, until a time and at least one. It reports whether the reader
// has received all of them and follows. It writes nothing if the requests of the website take too long.
func (s *Server) sendHistory(
	ctx context.Context, r *streamReader, until time.Time, write func(string) error,
) (bool, error) {
	mark, last := s.eventFeed.mark(r), r.last
	page, err := s.eventFeed.page(ctx, r.of, r.types, last)
	if err != nil || page == nil {
		return false, err
	}
	for i, e := range page.events {
		if i > 0 && time.Now().After(until) {
			return s.eventFeed.follow(r, last), nil
		}
		if text := s.eventText(r.of.store, e); text != "" {
			if err := write(text); err != nil {
				return false, err
			}
		}
		last = e.Position
	}
	if !page.more {
		last = max(last, mark)
	}
	return s.eventFeed.follow(r, last), nil
}

// eventText returns the text of an event in a stream, "" if its body is erased.
func (s *Server) eventText(store app.StoreID, e app.StoredEvent) string {
	if e.Body == nil {
		return ""
	}
	text := "event: " + string(e.Type) + "\nid: " + s.sealPosition(store, e.Position) + "\n"
	// Parsers of server-sent events ignore the fields that they do not know.
	text += "position: " + strconv.FormatInt(e.Position, 10) + "\n"
	if e.Resource != "" {
		text += "resource: " + e.Resource + "\n"
	}
	return text + "data: " + string(e.Body) + "\n\n"
}
