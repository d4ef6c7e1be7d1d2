package api

import (
	"context"
	"time"
)

const (
	heartbeat        = 15 * time.Second
	streamLease      = 3 * heartbeat    // for which a stream counts after its process was killed
	streamRecheckFor = 5 * time.Second  // timeout of the check at a heartbeat
	streamPatience   = 10 * time.Second // for a client to read an event
)

// openStream counts a stream against the limit of its store. It returns RATE_LIMITED.
func (s *Server) openStream(ctx context.Context, c *call) error {
	return s.db.OpenStream(ctx, c.principal.StoreID, c.exchange.id, c.route.Limit.streams, streamLease)
}

// closeStream ends the count of a stream. If it fails, the stream counts until its lease ends.
func (s *Server) closeStream(c *call) {
	ctx, cancel := context.WithTimeout(context.Background(), streamRecheckFor)
	defer cancel()
	if err := s.db.CloseStream(ctx, c.principal.StoreID, c.exchange.id); err != nil {
		c.exchange.log.Warn().Err(err).Msg("stream not closed; it counts until its lease ends")
	}
}

// mayStill checks the credential of a stream again and renews its lease.
func (s *Server) mayStill(ctx context.Context, c *call) error {
	ctx, cancel := context.WithTimeout(ctx, streamRecheckFor)
	defer cancel()
	again := *c // closeStream needs the principal, also if it is no longer one
	again.now = s.now()
	if err := s.authenticate(ctx, &again); err != nil {
		return err
	}
	if err := s.authorize(ctx, &again); err != nil {
		return err
	}
	return s.db.RenewStream(ctx, c.principal.StoreID, c.exchange.id, streamLease)
}
