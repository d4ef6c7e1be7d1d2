package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

const (
	// readPause is the time between two pages of a list, and after a refusal.
	readPause = 2 * time.Second
	// readPage is the number of events of a page.
	readPage = 50
	// catchUp limits the time in which the readers read the newest event. A stream detects a dead connection after 45 s
	// and connects again after at most 30 s.
	catchUp = 90 * time.Second
)

// The ways in which readers read the events of a store.
const (
	byStream = "stream" // GET /events/stream, which omits erased events
	byList   = "list"   // GET /events?order=asc, page by page
)

// reading is what a reader of the events of a site has read.
type reading struct {
	Site   string
	Manner string      // byStream or byList
	After  string      // id of the event after which it began
	Events []string    // ids, in the order in which it has read them
	Times  []time.Time // when it has read them
	Lost   []time.Time // when the service refused the position after which the stream was to continue
	Failed string      // error that has ended it, "" = none

	Internal int // responses with status 500

	position int64 // of the last event that it has read
}

// readers read the events and the orders of all sites while the clients change them.
type readers struct {
	all      *sites
	stop     context.CancelFunc
	running  sync.WaitGroup
	readings []*reading
}

// startReaders starts the readers of all sites. They continue after each fault from the last event.
func startReaders(ctx context.Context, s *sites) (*readers, error) {
	ctx, stop := context.WithCancel(ctx)
	r := &readers{all: s, stop: stop}
	for _, name := range s.names {
		site := s.byName[name]
		list, err := site.key.ListEvents(ctx, comanda.ListEventsParams{Limit: 1})
		if err != nil {
			r.end()
			return r, fmt.Errorf("read the events of %s: %w", name, err)
		}
		first := list.Data[0] // fill has made some
		for manner, follow := range map[string]func(context.Context, *reading, string){
			byStream: r.stream, byList: r.list,
		} {
			reading := &reading{Site: name, Manner: manner, After: first.ID, position: int64(*first.Position)}
			r.readings = append(r.readings, reading)
			r.running.Go(func() { follow(ctx, reading, *first.Cursor) })
		}
		r.running.Go(func() { site.watchOrders(ctx) })
	}
	return r, nil
}

// end ends the readers.
func (r *readers) end() {
	r.stop()
	r.running.Wait()
}

// finish waits until all readers have read the newest event of their site, at most for some time, and ends them. It
// adds what they have read to the history.
func (r *readers) finish(ctx context.Context) error {
	defer r.end()
	for deadline := time.Now().Add(catchUp); time.Now().Before(deadline); {
		late, err := r.late(ctx)
		if err != nil || !late {
			break
		}
		if err := wait(ctx, repeatPause); err != nil {
			return err
		}
	}
	r.end()
	for _, reading := range r.readings {
		r.all.h.Readings = append(r.all.h.Readings, *reading)
	}
	return nil
}

// late reports whether a reader has not read the newest event of its site.
func (r *readers) late(ctx context.Context) (bool, error) {
	newest := app.PageLimit{Rows: 100, Bytes: app.MaxEvent} // more than the events of erased customers at the end
	last := map[string]int64{}
	for _, name := range r.all.names {
		store := app.StoreID(r.all.h.Stores[name])
		events, _, err := r.all.w.SystemDB().Events(ctx, store, app.EventFilter{}, false, 0, newest)
		if err != nil {
			return false, err
		}
		for _, e := range events {
			if e.Body != nil {
				last[name] = e.Position
				break
			}
		}
	}
	r.all.h.lock.Lock()
	defer r.all.h.lock.Unlock()
	for _, reading := range r.readings {
		if reading.position < last[reading.Site] && reading.Failed == "" {
			return true, nil
		}
	}
	return false, nil
}

// add adds an event that was read.
func (r *readers) add(reading *reading, event string, position int64) {
	r.all.h.lock.Lock()
	defer r.all.h.lock.Unlock()
	reading.Events, reading.Times = append(reading.Events, event), append(reading.Times, time.Now())
	reading.position = position
}

// stream reads a stream from a cursor on. The client connects again after a break. While the website is suspended,
// the service refuses the stream. If the last event is lost, the reader reads the list until it has a later event.
func (r *readers) stream(ctx context.Context, reading *reading, cursor string) {
	for ctx.Err() == nil {
		var failed error
		params := comanda.StreamEventsParams{LastEventID: cursor, Interrupted: func(err error, _ time.Duration) {
			r.count(reading, err)
		}}
		for event, err := range r.all.byName[reading.Site].key.StreamEvents(ctx, params) {
			if err != nil {
				failed = err
				break
			}
			r.add(reading, event.ID, event.Position)
			cursor = event.Cursor
		}
		if errors.Is(failed, comanda.ErrEventsErased) {
			r.lose(reading)
			cursor, failed = r.stored(ctx, reading, cursor)
		}
		if !r.pause(ctx, reading, failed) {
			return
		}
	}
}

// list reads a list from a cursor on, again and again.
func (r *readers) list(ctx context.Context, reading *reading, cursor string) {
	for ctx.Err() == nil {
		var err error
		cursor, err = r.stored(ctx, reading, cursor)
		if !r.pause(ctx, reading, err) {
			return
		}
	}
}

// stored reads the pages of a list from a cursor on, and returns the cursor of the last event.
func (r *readers) stored(ctx context.Context, reading *reading, cursor string) (string, error) {
	params := comanda.ListEventsParams{Order: comanda.EventOrderAsc, Limit: readPage, Cursor: cursor}
	for event, err := range r.all.byName[reading.Site].key.AllEvents(ctx, params) {
		if err != nil {
			return cursor, err
		}
		r.add(reading, event.ID, int64(*event.Position))
		cursor = *event.Cursor
	}
	return cursor, nil
}

// lose records that the service refuses the position of a reader.
func (r *readers) lose(reading *reading) {
	r.all.h.lock.Lock()
	defer r.all.h.lock.Unlock()
	reading.Lost = append(reading.Lost, time.Now())
}

// pause waits before the next request of a reader. It returns false if the reader ends: it is done, or the service has
// refused its cursor or its credential. While a website is suspended, its readers wait.
func (r *readers) pause(ctx context.Context, reading *reading, err error) bool {
	r.count(reading, err)
	refusal, refused := errors.AsType[*comanda.Error](err)
	if refused && refusal.StatusCode < 500 && refusal.Code != comanda.ErrorCodeWebsiteSuspended {
		r.all.h.lock.Lock()
		defer r.all.h.lock.Unlock()
		reading.Failed = err.Error()
		return false
	}
	return wait(ctx, readPause) == nil
}

// count counts a response with status 500.
func (r *readers) count(reading *reading, err error) {
	if response, ok := errors.AsType[*comanda.Error](err); ok && response.StatusCode == http.StatusInternalServerError {
		r.all.h.lock.Lock()
		defer r.all.h.lock.Unlock()
		reading.Internal++
	}
}

// printReaders prints how much the readers have read.
func (h *history) printReaders(out io.Writer) {
	events, orders := 0, 0
	for _, r := range h.Readings {
		events += len(r.Events)
	}
	for _, w := range h.Watchings {
		orders += len(w.Shown)
	}
	fmt.Fprintf(out, "%d events and %d changes of orders were read\n", events, orders)
}
