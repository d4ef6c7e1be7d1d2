package activities

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// pausing is a Store that records attempts when resume is closed.
type pausing struct {
	*memory
	recording, resume chan struct{}
}

func (p pausing) RecordAttempt(ctx context.Context, made app.MadeAttempt) (bool, error) {
	close(p.recording)
	<-p.resume
	return p.memory.RecordAttempt(ctx, made)
}

// An attempt that waits for its receiver is no work of the process, so that a hanging receiver does not delay claims.
func TestWorkingOmitsWaitsForReceivers(t *testing.T) {
	t.Parallel()
	arrived, respond := make(chan struct{}), make(chan struct{})
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-respond
	})
	store := pausing{&memory{outgoing: outgoing(url)}, make(chan struct{}), make(chan struct{})}
	d := newDeliveries(e, store)
	var ended sync.WaitGroup
	ended.Go(func() {
		if _, err := d.Deliver(t.Context(), DeliverInput{Attempt: 1, Lane: LaneFast}); err != nil {
			t.Errorf("Deliver: %v", err)
		}
	})
	for _, step := range []struct {
		name string
		wait func()
		want int
	}{
		{"waits for the receiver", func() { <-arrived }, 0},
		{"is recorded", func() { close(respond); <-store.recording }, 1},
		{"has ended", func() { close(store.resume); ended.Wait() }, 0},
	} {
		if step.wait(); d.Working() != step.want {
			t.Errorf("an attempt that %s: working on %d, want %d", step.name, d.Working(), step.want)
		}
	}
}
