package filter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app/filter"
)

// queued starts a caller that waits for a turn of a website, and returns when it waits. The caller adds the website to
// began when the turn begins, and uses some time.
func queued(t *testing.T, turns *filter.Turns, website string, used time.Duration, began chan<- string) {
	t.Helper()
	before := turns.Waiting()
	go func() {
		if err := turns.Take(t.Context(), website); err != nil {
			t.Error(err)
		}
		began <- website
		turns.Give(website, used)
	}()
	for turns.Waiting() == before {
		time.Sleep(time.Millisecond)
	}
}

// taken takes a turn of a website that has no other callers.
func taken(t *testing.T, turns *filter.Turns, website string) {
	t.Helper()
	if err := turns.Take(t.Context(), website); err != nil {
		t.Fatal(err)
	}
}

// A website whose many callers came first, or whose turns are long, gets no more time than another one.
func TestTurnsAreShared(t *testing.T) {
	t.Parallel()
	var turns filter.Turns
	began := make(chan string, 20)
	taken(t, &turns, "other")
	for range 10 {
		queued(t, &turns, "hostile", time.Second, began)
	}
	for range 5 {
		queued(t, &turns, "quiet", time.Second/4, began)
	}
	turns.Give("other", 0)
	var order []string
	for range 15 {
		order = append(order, <-began)
	}
	want := []string{"hostile", "quiet", "quiet", "quiet", "quiet", "hostile", "quiet"}
	for range 8 {
		want = append(want, "hostile")
	}
	if !slices.Equal(order, want) {
		t.Errorf("turns: got %v, want %v", order, want)
	}
}

// A website cannot save time for later: after a pause, it takes turns with the others.
func TestTurnsAreNotSaved(t *testing.T) {
	t.Parallel()
	var turns filter.Turns
	for range 10 {
		taken(t, &turns, "busy")
		turns.Give("busy", time.Second)
	}
	began := make(chan string, 20)
	taken(t, &turns, "other")
	for range 4 {
		queued(t, &turns, "returned", time.Second, began)
	}
	queued(t, &turns, "busy", time.Second, began)
	turns.Give("other", 0)
	var order []string
	for range 5 {
		order = append(order, <-began)
	}
	if at := slices.Index(order, "busy"); at != 1 && at != 2 {
		t.Errorf("turns: got %v, want busy to be second or third", order)
	}
}

// A caller that ends while it waits, or when its turn begins, leaves the turn to the others.
func TestTurnsOfEndedCallers(t *testing.T) {
	t.Parallel()
	var turns filter.Turns
	taken(t, &turns, "a")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- turns.Take(ctx, "b") }()
	for turns.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended caller: got %v, want %v", err, context.Canceled)
	}
	turns.Give("a", 0)
	for i := range 1000 { // both orders of the end and the beginning
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		website := fmt.Sprint(i % 3)
		if turns.Take(ctx, website) == nil {
			turns.Give(website, time.Second)
		}
	}
	taken(t, &turns, "a")
	if n := turns.Waiting(); n != 0 {
		t.Errorf("waiting callers: got %d, want 0", n)
	}
}
