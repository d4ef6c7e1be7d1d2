package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// clients is the number of clients that place orders one after the other.
	clients = 4
	// requestTime is the time after which a client repeats a request.
	requestTime = 10 * time.Second
	// pause is the time before a client repeats a request.
	pause = 200 * time.Millisecond
	// placeTime is the time within which every order must be placed.
	placeTime = 5 * time.Minute
	// apiURL is the URL of the API at the load balancer, which ignores its host.
	apiURL = "https://localhost"
)

// caller calls the API with an API key.
type caller struct {
	client *http.Client
	key    string
}

// call sends a request, and decodes the data of the response into out unless it is nil. It returns an error unless the
// response has the status.
func (c *caller) call(ctx context.Context, method, path, idempotencyKey string, status int, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, apiURL+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.key)
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != status {
		var body struct{ Error struct{ Code string } }
		_ = json.Unmarshal(text, &body) // without a code, the status remains
		return fmt.Errorf("%s %s: %w", method, path, refusal{response.StatusCode, body.Error.Code, string(text)})
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, &struct{ Data any }{out})
}

// load places orders until it is stopped.
type load struct {
	caller  *caller
	order   any // body of the requests
	pace    time.Duration
	round   string // prefix of the idempotency keys
	running sync.WaitGroup
	ending  chan struct{}

	lock    sync.Mutex
	placed  []placed
	reasons map[string]int // of repeated requests
	errs    []error
}

// newLoad starts the clients. Together they place at most rate orders per second.
func newLoad(ctx context.Context, c *caller, order any, name string, rate float64) *load {
	l := &load{
		caller: c, order: order, round: name, ending: make(chan struct{}), reasons: map[string]int{},
		pace: time.Duration(float64(clients) / rate * float64(time.Second)),
	}
	for client := range clients {
		l.running.Go(func() { l.run(ctx, client) })
	}
	return l
}

// run places orders at a fixed pace.
func (l *load) run(ctx context.Context, client int) {
	ticker := time.NewTicker(l.pace)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-l.ending:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := l.place(ctx, fmt.Sprintf("%s-%d-%d", l.round, client, n)); err != nil {
			l.lock.Lock()
			l.errs = append(l.errs, err)
			l.lock.Unlock()
			return
		}
	}
}

// place places one order. It repeats the request with the same key until the API confirms the order.
func (l *load) place(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, placeTime)
	defer cancel()
	for {
		var order struct{ ID string }
		err := l.caller.call(ctx, http.MethodPost, "/orders", key, http.StatusCreated, l.order, &order)
		l.lock.Lock()
		if err == nil {
			l.placed = append(l.placed, placed{order.ID, time.Now()})
		} else {
			l.reasons[reason(err)]++
		}
		l.lock.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("place an order: %w", err)
		case <-time.After(pause):
		}
	}
}

// stop stops the clients, and returns their orders and the number of repeated requests by reason. It returns an error
// if an order could not be placed.
func (l *load) stop() ([]placed, map[string]int, error) {
	close(l.ending)
	l.running.Wait()
	return l.placed, l.reasons, errors.Join(l.errs...)
}

// reason returns the reason for which a request failed, without its details.
func reason(err error) string {
	if r, ok := errors.AsType[refusal](err); ok {
		return fmt.Sprintf("%d %s", r.status, r.code)
	}
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() {
		return fmt.Sprintf("no response within %s", requestTime)
	}
	return "no connection"
}

// refusal is a response with another status than the expected one.
type refusal struct {
	status     int
	code, text string
}

func (r refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.text) }
