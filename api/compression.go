package api

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

const (
	// minCompressed is the size in bytes from which a response is compressed: smaller ones fit into one packet.
	minCompressed = 1024
	// compressionJitter is the number of random bytes by which the length of a compressed response varies at most.
	compressionJitter = 32
)

// compressed reports whether the responses of a route are compressed. The length of a compressed response reveals
// whether its text contains a guess (BREACH), if an attacker can have requests sent with a guess beside a secret.
// These responses are never compressed:
//
//   - of operations that a page of another site can have sent, because their credential is a cookie,
//   - of operations without a credential, which respond with tokens,
//   - of POST, PUT, PATCH and DELETE, which respond once with secrets of webhooks, API keys and one-time passwords,
//   - of streams, whose events must not wait for a compressor.
//
// GET requests have their credential in the Authorization header, which no other site can set, and show no secrets.
func (rt *route) compressed() bool {
	_, stream := rt.Handler.response.(eventStream)
	return rt.Method == http.MethodGet && rt.byAccessToken() && rt.Cookie == "" && !stream
}

// newCompressor returns the middleware that compresses with gzip, which every client understands. The fastest level
// takes half of the time of the default.
func newCompressor() func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.EnableZstd(false),
		gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.RandomJitter(compressionJitter, 0, false))
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap
}

// compress serves exchanges with a compressing writer.
func (s *Server) compress(serve func(x *exchange, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := w.(*exchange)
		plain := x.ResponseWriter
		defer func() { x.ResponseWriter = plain }()
		s.gzip(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x.ResponseWriter = w
			serve(x, r)
		})).ServeHTTP(plain, r)
	}
}
