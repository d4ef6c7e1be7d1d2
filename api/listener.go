package api

import (
	"context"
	"time"
)

// listener is the listening database connection of a feed. The streams of the feed end with it.
type listener struct {
	stop  context.CancelFunc
	began chan struct{} // closed when the connection listens
	ended chan struct{} // closed when the connection has ended and the feed has forgotten it
}

// newListener returns a listener, and the context that its stop cancels.
func newListener() (*listener, context.Context) {
	ctx, stop := context.WithCancel(context.Background())
	return &listener{stop: stop, began: make(chan struct{}), ended: make(chan struct{})}, ctx
}

// run listens until the connection breaks or ctx ends. While it listens, it calls search at each interval: a
// notification is lost if its process dies after the commit. run then calls forget.
func (l *listener) run(
	ctx context.Context, listen func(ctx context.Context, began func()) error,
	every time.Duration, search func(context.Context), failed func(error), forget func(),
) {
	defer close(l.ended)
	defer forget()
	defer l.stop()
	err := listen(ctx, func() {
		close(l.began)
		go repeat(ctx, every, search)
	})
	if ctx.Err() == nil {
		failed(err)
	}
}

// repeat calls f at each interval until ctx ends.
func repeat(ctx context.Context, every time.Duration, f func(context.Context)) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f(ctx)
		case <-ctx.Done():
			return
		}
	}
}
