package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/comanda-dev/comanda/app"
)

const (
	heartbeat          = 15 * time.Second
	streamLease        = leaseBeats * heartbeat // for which a stream counts after its process was killed
	streamRecheckFor   = 5 * time.Second        // timeout of the check at a heartbeat
	streamWriteTimeout = 10 * time.Second       // for a client to read a message
	leaseBeats         = 3                      // heartbeats without a renewal after which a stream ends
	reconnectIn        = 2 * time.Second        // sent to clients as the retry field
)

// eventStream writes a response of server-sent events and returns at its end.
type eventStream func(x *exchange)

func (e eventStream) envelop() any { return e }

// streamOf is the part of a stream that depends on its hub.
type streamOf struct {
	*hub
	join func() (*streamReader, error)

	// position returns the line with the position of a reader, "" without positions.
	position func(r *streamReader) string

	// catchUp writes the next stored messages to a reader that does not follow, until a time. It reports whether the
	// reader now follows. nil = every reader follows.
	catchUp func(ctx context.Context, r *streamReader, until time.Time, write func(string) error) (bool, error)
}

// stream opens a stream. It returns RATE_LIMITED and UNAVAILABLE. The stream ends when the credential is no longer
// valid, when the client is too slow, or on errors.
func (s *Server) stream(ctx context.Context, c *call, of streamOf) (eventStream, error) {
	if err := s.openStream(ctx, c); err != nil {
		return nil, err
	}
	r, err := of.join()
	if err != nil {
		s.streams.release(c.principal.WebsiteID)
		s.forgetStream(c) // with the connection of the request
		return nil, err
	}
	return func(x *exchange) {
		defer s.closeStream(c)
		defer of.leave(r)
		s.writeStream(x, c, of, r)
	}, nil
}

// writeStream writes the messages of a reader until the stream ends.
func (s *Server) writeStream(x *exchange, c *call, of streamOf, r *streamReader) {
	x.Header().Set("Content-Type", "text/event-stream")
	x.Header().Set("X-Accel-Buffering", "no") // for proxies
	control := http.NewResponseController(x)
	_ = control.SetReadDeadline(time.Time{}) // removes that of the request; not supported by test recorders
	x.WriteHeader(http.StatusOK)
	write := func(text string) error { return s.writeMessage(x, control, text) }
	if write(fmt.Sprintf("retry: %d\n%s\n", reconnectIn.Milliseconds(), of.position(r))) != nil {
		return
	}
	unrenewed := 0 // heartbeats since the latest renewal of the lease
	beat, due := time.NewTimer(s.heartbeat), time.Now().Add(s.heartbeat)
	defer beat.Stop()
	alive := func() bool {
		beat.Reset(s.heartbeat)
		due = time.Now().Add(s.heartbeat)
		renewed, err := s.recheckStream(x.open, c)
		if unrenewed++; renewed {
			unrenewed = 0
		}
		return err == nil && unrenewed < leaseBeats && write(": still here\n"+of.position(r)+"\n") == nil
	}
	var behind chan struct{} // receives while the reader does not follow
	if of.catchUp != nil {
		behind = make(chan struct{})
		close(behind)
	}
	for {
		select {
		case <-behind:
			if time.Now().After(due) && !alive() { // select could prefer the messages repeatedly
				return
			}
			follows, err := of.catchUp(x.open, r, due, write)
			if err != nil {
				return
			}
			if follows {
				behind = nil
			}
		case <-r.ready:
			if m, ok := of.next(r); ok {
				if write(m.text) != nil {
					return
				}
				of.wrote(r, m)
			}
		case <-beat.C:
			if !alive() {
				return
			}
		case <-r.late:
			return
		case <-r.of.failed:
			return
		case <-r.connection.ended:
			return
		case <-x.open.Done():
			return
		case <-s.stopping:
			return
		}
	}
}

// writeMessage sends a text to a client, which has s.writeTimeout to read it. Between the texts of a stream there is no
// deadline: HTTP/2 resets a stream whose deadline has passed, also if nothing is being written.
func (s *Server) writeMessage(x *exchange, control *http.ResponseController, text string) error {
	_ = control.SetWriteDeadline(time.Now().Add(s.writeTimeout)) // not supported by test recorders
	if _, err := io.WriteString(x, text); err != nil {
		return err
	}
	if err := control.Flush(); err != nil {
		return err
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}

// openStream counts a stream against the limits of the process, of its store and of its website. It returns UNAVAILABLE
// and RATE_LIMITED.
func (s *Server) openStream(ctx context.Context, c *call) error {
	if err := s.streams.take(c.principal.WebsiteID); err != nil {
		return err
	}
	err := s.db.OpenStream(ctx, c.principal, c.exchange.id, c.route.Limit.streams, streamLease)
	if err != nil {
		s.streams.release(c.principal.WebsiteID)
	}
	return err
}

// closeStream ends the count of a stream. If its website has too much work in progress, or the database fails, the
// stream of its store counts until its lease ends.
func (s *Server) closeStream(c *call) {
	s.streams.release(c.principal.WebsiteID)
	places, ok := s.work.enterRead(context.Background(), c.principal.WebsiteID)
	if !ok {
		c.exchange.log.Warn().Msg("stream not closed beside other requests; it counts until its lease ends")
		return
	}
	defer places.leave()
	s.forgetStream(c)
}

// forgetStream removes a stream from the database. The caller has a place of its website.
func (s *Server) forgetStream(c *call) {
	ctx, cancel := context.WithTimeout(context.Background(), streamRecheckFor)
	defer cancel()
	if err := s.db.CloseStream(ctx, c.principal.StoreID, c.exchange.id); err != nil {
		c.exchange.log.Warn().Err(err).Msg("stream not closed; it counts until its lease ends")
	}
}

// recheckStream checks the credential of a stream again and renews its lease. renewed is false if the requests of the
// website take too long for the renewal. The check uses connections for lookups and waits for other lookups of its
// website.
func (s *Server) recheckStream(ctx context.Context, c *call) (renewed bool, err error) {
	if err := s.recheckCredential(ctx, c); err != nil {
		return false, err
	}
	places, ok := s.work.enterRead(ctx, c.principal.WebsiteID)
	if !ok {
		return false, nil
	}
	defer places.leave()
	ctx, cancel := context.WithTimeout(ctx, streamRecheckFor)
	defer cancel()
	return true, s.db.RenewStream(ctx, c.principal.StoreID, c.exchange.id, streamLease)
}

func (s *Server) recheckCredential(ctx context.Context, c *call) error {
	ctx, cancel := context.WithTimeout(ctx, streamRecheckFor)
	defer cancel()
	places, ok := s.work.enterCheck(ctx, c.principal.WebsiteID)
	if !ok {
		return app.Unavailable(reconnectIn)
	}
	defer places.leave()
	again := *c // closeStream needs the principal, also if it is no longer one
	again.now = s.now()
	if err := s.authenticate(ctx, &again); err != nil {
		return err
	}
	return s.authorize(ctx, &again)
}
