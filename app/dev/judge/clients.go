package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

const (
	// timeout limits an operation with all of its repetitions. It is longer than the longest fault.
	timeout = 2 * time.Minute
	// repeatPause is the time before a request is repeated.
	repeatPause = 300 * time.Millisecond
)

// errNoTarget ends an operation that found nothing on which it could be made.
var errNoTarget = errors.New("no target")

// turn is an operation while it is made.
type turn struct {
	operation
	site   *site
	random *rand.Rand
	key    string // idempotency key
}

// keyed is a request with the idempotency key of its operation.
type keyed func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error

// send makes the request of the operation with the API key of the site until its result is known or ctx ends. It
// records the result.
func (t *turn) send(ctx context.Context, request keyed) error {
	return t.sendAs(ctx, t.site.key, request)
}

// sendAs is send with a client.
func (t *turn) sendAs(ctx context.Context, c *comanda.Client, request keyed) error {
	lost := false
	for {
		t.Tries++
		err := t.once(ctx, func(ctx context.Context) error {
			return request(ctx, c, comanda.IdempotencyKey(t.key))
		})
		again := t.record(err, lost)
		if !again {
			return err
		}
		lost = lost || t.Result == unknown
		if wait(ctx, repeatPause) != nil {
			t.Result = unknown
			return err
		}
	}
}

// sendOnce is send without a repetition, for requests that are about the present moment.
func (t *turn) sendOnce(ctx context.Context, request func(ctx context.Context, c *comanda.Client) error) error {
	t.Tries++
	err := t.once(ctx, func(ctx context.Context) error { return request(ctx, t.site.key) })
	t.record(err, false)
	return err
}

// once makes one request and measures it.
func (t *turn) once(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	defer func(began time.Time) { t.Took = time.Since(began) }(time.Now())
	return request(ctx)
}

// record records the response of a request, and returns whether the request must be repeated. If an earlier request was
// lost, a refusal may be the consequence of its success, so that the result is unknown.
func (t *turn) record(err error, lost bool) (again bool) {
	t.Status, t.Code = 0, ""
	refusal, ok := errors.AsType[*comanda.Error](err)
	switch {
	case err == nil:
		t.Result, t.Status = done, http.StatusOK
		return false
	case !ok || refusal.StatusCode >= 500:
		t.Result = unknown
		if ok {
			t.Status, t.Code = refusal.StatusCode, string(refusal.Code)
			t.count(refusal)
		}
		return true
	}
	t.Status, t.Code = refusal.StatusCode, string(refusal.Code)
	t.Result = refused
	if lost {
		t.Result = unknown
	}
	return refusal.Code == comanda.ErrorCodeIdempotencyKeyInUse
}

// count counts a response with status 500.
func (t *turn) count(response *comanda.Error) {
	if response.StatusCode == http.StatusInternalServerError {
		t.Internal++
	}
}

// prepare makes a request before that of the operation until it has a response.
func (t *turn) prepare(ctx context.Context, request func(ctx context.Context, c *comanda.Client) error) error {
	for {
		err := t.once(ctx, func(ctx context.Context) error { return request(ctx, t.site.key) })
		refusal, ok := errors.AsType[*comanda.Error](err)
		if err == nil || ok && refusal.StatusCode < 500 && refusal.Code != comanda.ErrorCodeIdempotencyKeyInUse {
			return err
		}
		if ok {
			t.count(refusal)
		}
		if wait(ctx, repeatPause) != nil {
			return err
		}
	}
}

// sendAsOwner is send with the session of the owner. A session that has ended, or whose tokens were lost, is replaced.
func (t *turn) sendAsOwner(ctx context.Context, request keyed) error {
	return t.sendInSession(ctx, t.site.owner, t.site.login, request)
}

// sendInSession is send with the session of a client.
func (t *turn) sendInSession(
	ctx context.Context, client *comanda.Client, login func(context.Context) error, request keyed,
) error {
	return t.sendAs(ctx, client, func(ctx context.Context, c *comanda.Client, key comanda.CallOption) error {
		err := request(ctx, c, key)
		refusal, ok := errors.AsType[*comanda.Error](err)
		if errors.Is(err, comanda.ErrNoSession) || ok && refusal.StatusCode == http.StatusUnauthorized {
			if err := login(ctx); err != nil {
				return err
			}
			return request(ctx, c, key)
		}
		return err
	})
}

// perform makes an operation. It repeats the request with the same idempotency key while the result is unknown, for at
// most two minutes.
func (s *sites) perform(ctx context.Context, p planned) operation {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	t := &turn{
		operation: operation{planned: p, Begin: time.Now()}, site: s.byName[p.Site],
		random: rand.New(rand.NewPCG(p.Pick, 0)), //nolint:gosec // repeatable
		key:    fmt.Sprintf("%d-%d", s.h.Seed, p.Number),
	}
	err := kindOf(p.Kind).perform(ctx, t)
	refusal, ok := errors.AsType[*comanda.Error](err)
	switch {
	case errors.Is(err, errNoTarget):
		t.Result = untargeted
	case t.Result != "":
	case ok: // of a request that prepares the operation
		t.Result, t.Status, t.Code = refused, refusal.StatusCode, string(refusal.Code)
	default:
		t.Result = unknown
	}
	if err != nil {
		t.Detail = strings.TrimSpace(t.Detail + " " + err.Error())
	}
	t.End = time.Now()
	return t.operation
}
