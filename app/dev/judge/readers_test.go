package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// responds500 responds to each request with status 500.
type responds500 struct{}

func (responds500) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusInternalServerError, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// TestReadersRecordInternalErrors checks that a reader records a response with status 500 and no other one, and
// continues.
func TestReadersRecordInternalErrors(t *testing.T) {
	t.Parallel()
	s := &sites{w: &world{client: &http.Client{Transport: responds500{}}}, h: &history{}}
	if one := (&site{all: s}).watchOnce(t.Context()); !one.Internal {
		t.Errorf("stream of orders: got %+v, want an internal error", one)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	r, one := &readers{all: s}, &reading{}
	for _, status := range []int{500, 503, 403} {
		r.pause(ended, one, &comanda.Error{StatusCode: status, Code: comanda.ErrorCodeWebsiteSuspended})
	}
	if one.Internal != 1 || one.Failed != "" {
		t.Errorf("list: got %+v, want one internal error", one)
	}
}
