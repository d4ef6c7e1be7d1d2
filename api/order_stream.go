package api

import (
	"context"
)

var streamOrders = handle("streamOrders", (*Server).watchOrders)

type watchOrdersIn struct{}

// watchOrders streams the changes of the store's orders and of the deliveries of their events. The versions of an
// order arrive in ascending order; versions that change again immediately may be omitted. A stream does not miss an
// order that changes after its first line. When it ends, the client reads the orders and opens a new stream.
func (s *Server) watchOrders(ctx context.Context, c *call, _ watchOrdersIn) (eventStream, error) {
	return s.stream(ctx, c, streamOf{
		hub:      s.orderFeed.hub,
		join:     func() (*streamReader, error) { return s.orderFeed.watch(ctx, c.principal) },
		position: func(*streamReader) string { return "" },
	})
}
