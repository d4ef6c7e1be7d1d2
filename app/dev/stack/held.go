package main

import (
	"bytes"
	"io"
	"sync"
)

// heldWriter buffers its input until it is released. Events can arrive before the program has printed its addresses,
// and appear below them.
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

// release writes the buffered input. Further input is written directly.
func (w *heldWriter) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = true
	_, _ = w.held.WriteTo(w.out) // the terminal may be closed
}
