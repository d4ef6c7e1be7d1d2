package main

import (
	"bytes"
	"io"
	"sync"
)

// heldWriter keeps what is written to it until it is released: events arrive before the screen that they belong below.
type heldWriter struct {
	mu       sync.Mutex
	out      io.Writer
	held     bytes.Buffer
	released bool
}

func (w *heldWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.released {
		return w.out.Write(text)
	}
	return w.held.Write(text)
}

// release lets everything through, what was held first.
func (w *heldWriter) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = true
	_, _ = w.held.WriteTo(w.out) // a terminal that is gone needs no events
}
