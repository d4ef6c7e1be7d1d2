package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// watching is one connection to the stream of a site's orders (GET /orders/stream).
type watching struct {
	Site       string
	Begin, End time.Time // from its first line to its break; zero = it was not opened
	Shown      []shownOrder
	Internal   bool // the response had the status 500
}

// shownOrder is an order that a stream has shown.
type shownOrder struct {
	At      time.Time
	Order   string
	Version int64
}

// watchOrders watches the orders of a site, and connects again after each break.
func (s *site) watchOrders(ctx context.Context) {
	for ctx.Err() == nil {
		if one := s.watchOnce(ctx); !one.Begin.IsZero() || one.Internal {
			s.all.h.lock.Lock()
			s.all.h.Watchings = append(s.all.h.Watchings, one)
			s.all.h.lock.Unlock()
		}
		if wait(ctx, readPause) != nil {
			return
		}
	}
}

// watchOnce reads one connection until it breaks. Its begin is zero if the service did not open the stream.
func (s *site) watchOnce(ctx context.Context) watching {
	one := watching{Site: s.name}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.all.w.URL()+"/orders/stream", nil)
	if err != nil {
		return one
	}
	request.Header.Set("Authorization", "Bearer "+s.secret)
	endless := *s.all.w.HTTPClient()
	endless.Timeout = 0
	response, err := endless.Do(request)
	if err != nil {
		return one
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		one.Internal = response.StatusCode == http.StatusInternalServerError
		return one
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if one.Begin.IsZero() {
			one.Begin = time.Now()
		}
		var shown struct {
			ID      string `json:"id"`
			Version int64  `json:"version"`
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok && json.Unmarshal([]byte(data), &shown) == nil {
			one.Shown = append(one.Shown, shownOrder{time.Now(), shown.ID, shown.Version})
		}
	}
	if !one.Begin.IsZero() {
		one.End = time.Now()
	}
	return one
}
