package api

import (
	"context"
	_ "embed"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
)

// eventCatalogue describes the types of events. A test makes it from the Go types that the
// service emits: go test ./api -run TestOpenAPI -update
//
//go:embed eventtypes.json
var eventCatalogue []byte

type eventTypeEntry struct {
	Name         app.EventType  `json:"name"`
	Description  string         `json:"description"`
	Subscribable bool           `json:"subscribable"` // whether a webhook can ask for it
	Schema       jsontext.Value `json:"schema"`       // JSON Schema, draft 2020-12, of the body that is delivered; members may be added
	Example      jsontext.Value `json:"example"`      // such a body
}

var allEventTypes = sync.OnceValues(func() (all []eventTypeEntry, err error) {
	return all, json.Unmarshal(eventCatalogue, &all)
})

func (s *Server) eventTypes(_ context.Context, c *call, _ noIn) (list[eventTypeEntry, totalMeta], error) {
	all, err := allEventTypes()
	return list[eventTypeEntry, totalMeta]{all, totalMeta{len(all), c.exchange.id}}, err
}
