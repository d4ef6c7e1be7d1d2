package api

import (
	"context"
	_ "embed"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
)

// Operations of events.
var (
	listEventTypes = handle("listEventTypes", (*Server).eventTypes)
	listEvents     = handle("listEvents", (*Server).listEvents)
	getEvent       = handle("getEvent", (*Server).event)
)

// eventCatalogue describes the event types. A test writes it from the Go types of event data:
// go test ./api -run TestOpenAPI -update
//
//go:embed eventtypes.json
var eventCatalogue []byte

type eventTypeEntry struct {
	Name         app.EventType  `json:"name"`
	Description  string         `json:"description"`
	Subscribable bool           `json:"subscribable"`
	Schema       jsontext.Value `json:"schema"`
	Example      jsontext.Value `json:"example"`
}

var allEventTypes = sync.OnceValues(func() (all []eventTypeEntry, err error) {
	return all, json.Unmarshal(eventCatalogue, &all)
})

func (s *Server) eventTypes(_ context.Context, c *call, _ noIn) (list[eventTypeEntry, totalMeta], error) {
	all, err := allEventTypes()
	return list[eventTypeEntry, totalMeta]{all, totalMeta{len(all), c.exchange.id}}, err
}

type eventsIn struct {
	storeParam
	Type   []app.EventType `query:"type" validate:"eventfilter"`
	From   *app.Time       `query:"from"`
	To     *app.Time       `query:"to"`
	Order  app.EventOrder  `query:"order" default:"desc" validate:"enum"`
	Limit  int             `query:"limit" default:"20" validate:"pagesize"`
	Cursor string          `query:"cursor" validate:"cursor"`
}

func (in eventsIn) check() []app.Detail { return checkSpan(in.From, in.To) }

// eventOut is an event as clients read it.
type eventOut struct {
	ID       app.EventID     `json:"id"`
	Type     app.EventType   `json:"type"`
	At       app.Time        `json:"timestamp"`
	Position *int64          `json:"position"`
	Resource *string         `json:"resource"`
	Cursor   *string         `json:"cursor"`
	Erased   bool            `json:"erased"`
	Body     *jsontext.Value `json:"body"`
}

func (s *Server) eventOut(c *call, e app.StoredEvent) eventOut {
	out := eventOut{ID: e.ID, Type: e.Type, At: e.At, Erased: e.Body == nil}
	if e.Position != 0 {
		cursor := s.sealPosition(c.principal.StoreID, e.Position)
		out.Position, out.Cursor = &e.Position, &cursor
	}
	if e.Resource != "" {
		out.Resource = &e.Resource
	}
	if e.Body != nil {
		out.Body = (*jsontext.Value)(&e.Body)
	}
	return out
}

// listEvents lists the dispatched events. It returns VALIDATION_FAILED for a cursor of another list.
func (s *Server) listEvents(ctx context.Context, c *call, in eventsIn) (list[eventOut, cursorMeta], error) {
	after := int64(0)
	if in.Cursor != "" {
		position, ok := s.openPosition(c.principal.StoreID, in.Cursor)
		if !ok {
			return list[eventOut, cursorMeta]{}, app.Invalid("cursor", "is not a cursor of this list")
		}
		after = position
	}
	filter := app.EventFilter{Types: distinct(in.Type), From: in.From, To: in.To}
	found, more, err := s.db.Events(ctx, c.principal.StoreID, filter, in.Order == app.OldestEvents, after,
		app.PageLimit{Rows: in.Limit, Bytes: maxPage})
	meta := cursorMeta{Limit: in.Limit, RequestID: c.exchange.id}
	events := make([]eventOut, len(found))
	for i, e := range found {
		events[i] = s.eventOut(c, e)
	}
	if more {
		meta.NextCursor = events[len(events)-1].Cursor
	}
	return list[eventOut, cursorMeta]{events, meta}, err
}

// distinct returns the sorted types without duplicates.
func distinct(types []app.EventType) []app.EventType {
	return slices.Compact(slices.Sorted(slices.Values(types)))
}

// positionsOf returns the name under which the positions of a store are sealed.
func positionsOf(store app.StoreID) string { return "events\n" + string(store) }

func (s *Server) sealPosition(store app.StoreID, position int64) string {
	return s.cursors.seal(positionsOf(store), strconv.FormatInt(position, 10))
}

// openPosition returns the position in a cursor or a Last-Event-ID, false for that of another store or list.
func (s *Server) openPosition(store app.StoreID, sealed string) (int64, bool) {
	text, err := s.cursors.open(positionsOf(store), sealed)
	position, malformed := strconv.ParseInt(text, 10, 64)
	return position, err == nil && malformed == nil
}

type eventIn struct {
	ID app.EventID `path:"id"`
}

type eventDetail struct {
	eventOut

	Deliveries []app.Delivery `json:"deliveries"`
}

// maxEventDeliveries limits the deliveries in the response for one event. A store has at most 100 webhooks at a time.
const maxEventDeliveries = 1000

func (s *Server) event(ctx context.Context, c *call, in eventIn) (eventDetail, error) {
	event, err := s.db.Event(ctx, c.principal.StoreID, in.ID)
	if err != nil {
		return eventDetail{}, err
	}
	deliveries, err := s.db.Deliveries(ctx, c.principal.StoreID, app.DeliveryFilter{EventID: in.ID}, "",
		maxEventDeliveries)
	if err == nil {
		err = s.db.ExpectStarts(ctx, c.now, c.principal.StoreID, deliveries)
	}
	return eventDetail{s.eventOut(c, event), deliveries}, err
}
