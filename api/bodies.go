package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Limits of bodies, in bytes or requests (docs/behaviour.md#other-limits).
const (
	maxBody      = 1 << 20                    // of one request
	smallBody    = 4 << 10                    // its bytes are not counted: the headers of a request may be larger
	maxOwnBodies = 8 << 20                    // of a client network until the credential is known, then of a website
	maxBodies    = 64 << 20                   // of all requests of the process
	maxOwnRows   = maxHeavyWork * maxRowsBody // of the imports of one website
	maxRowsAtAll = 64 << 20                   // of all imports of the process

	maxReading    = 4096 // requests of the process whose bodies are being read
	maxOwnReading = 1024 // of a client network

	maxOwnResponses = 16 << 20 // of the reads of one website, until the clients have received them
	maxResponses    = 64 << 20 // of all reads of the process
)

// bodies counts the memory of bodies: those of requests from before they are read to the end of the requests, those of
// responses until they are sent. Nobody waits for it: a client that sends or receives slowly would delay all others.
// [Server] also counts the requests whose bodies are being read with it, in which case a size is a number of requests.
type bodies struct {
	most, own int64

	mu   sync.Mutex
	used int64
	of   map[string]int64 // by client network or website; without an entry if they use nothing
}

// memory is the part of a request. The zero value is none.
type memory struct {
	bodies *bodies
	owner  string
	size   int64
}

func newBodies(most, own int64) *bodies { return &bodies{most: most, own: own, of: map[string]int64{}} }

// take returns memory for an owner. It returns UNAVAILABLE if the owner would use more than its limit, or more than the
// remaining memory, so that owners do not take all of it from others.
func (b *bodies) take(owner string, size int64) (memory, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[owner]+size > min(b.own, b.most-b.used-size) {
		return memory{}, &app.Error{
			Code: app.CodeUnavailable, RetryAfter: time.Second,
			Message: "too many bodies are in progress; retry after the given time",
		}
	}
	b.used += size
	b.of[owner] += size
	return memory{b, owner, size}, nil
}

// shrink gives back the memory beyond a size.
func (m *memory) shrink(size int64) {
	freed := m.size - size
	if freed <= 0 {
		return
	}
	b := m.bodies
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= freed
	m.size -= freed
	if b.of[m.owner] -= freed; b.of[m.owner] == 0 {
		delete(b.of, m.owner)
	}
}

// assign makes memory that of another owner. It returns the errors of take.
func (m *memory) assign(owner string) (err error) {
	size := m.size
	if size == 0 {
		return nil
	}
	m.shrink(0)
	*m, err = m.bodies.take(owner, size)
	return err
}

// readAll reads a body of at most maxBody. It returns PAYLOAD_TOO_LARGE, and the errors of [bodies.take] and [broken].
func (s *Server) readAll(ctx context.Context, c *call) ([]byte, error) {
	tooLarge := app.Errorf(app.CodePayloadTooLarge, "the body must have at most %d bytes", maxBody)
	size := c.request.ContentLength
	if size > maxBody {
		return nil, tooLarge
	}
	if size == 0 {
		return nil, nil
	}
	network := ClientNetwork(c.exchange.client)
	reading, err := s.reading.take(network, 1)
	if err != nil {
		return nil, err
	}
	defer reading.shrink(0)
	in := c.bodyUntil(ctx, maxBody)
	var body bytes.Buffer
	if size < 0 { // unknown
		if _, err = io.CopyN(&body, in, smallBody); errors.Is(err, io.EOF) {
			return body.Bytes(), nil
		} else if err != nil {
			return nil, broken(ctx, err)
		}
		size = maxBody
	}
	if size > smallBody {
		if c.memory, err = s.bodies.take(network, size); err != nil {
			return nil, err
		}
		body.Grow(int(size) - body.Len() + bytes.MinRead) // ReadFrom reads with room for MinRead
	}
	_, err = body.ReadFrom(in)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	if err != nil {
		return nil, broken(ctx, err)
	}
	whole := body.Bytes()
	if int64(len(whole)) < c.memory.size { // its length was unknown
		whole = bytes.Clone(whole)
		c.memory.shrink(int64(len(whole)))
	}
	return whole, nil
}

// bodyUntil returns the body of a request, whose reading ends with the request: the server's own limit is longer.
func (c *call) bodyUntil(ctx context.Context, most int64) io.ReadCloser {
	if deadline, ok := ctx.Deadline(); ok {
		// Test recorders have no deadlines.
		_ = http.NewResponseController(c.exchange).SetReadDeadline(deadline)
	}
	return http.MaxBytesReader(c.exchange, c.request.Body, most)
}

// broken returns the error of a body that could not be read: that of the context if the time of the request is over,
// otherwise VALIDATION_FAILED.
func broken(ctx context.Context, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		<-ctx.Done() // at the same time
		return ctx.Err()
	}
	return app.Errorf(app.CodeValidationFailed, "the request body could not be read; send the request again")
}
