package schedule

import "time"

// Shares of a plan's window (docs/behaviour.md#plan-rate).
const (
	// Replays take at most 1/ReplayShare of the starts of a window.
	ReplayShare = 2

	// While both kinds are queued, one of KindShare starts is for a customer.* event. Without other events, customer.*
	// events leave 1/KindShare of a window to other events that arrive later.
	KindShare = 5
)

// Window is a window of a plan and its starts so far.
type Window struct {
	Start   time.Time
	Limit   int // starts in the window; 0 = unlimited
	Started int // including replays
	Replays int
}

// Limited reports whether the plan limits the starts.
func (w Window) Limited() bool { return w.Limit > 0 }

// Starts reports whether the window starts a delivery of a class if no other one is queued.
func (w Window) Starts(class Class) bool { return !w.Limited() || w.Expect([]Class{class})[0] == 0 }

// Since returns the time since which a delivery of an open window waits. If its plan has delayed it, that is the
// beginning of the window.
func (w Window) Since(due time.Time) time.Time {
	if w.Limited() && due.Before(w.Start) {
		return w.Start
	}
	return due
}

// freeForReplays returns the number of replays that may start in the window, as far as it has free starts.
func (w Window) freeForReplays() int {
	return max(0, w.Limit/ReplayShare-w.Replays)
}

// line is a line of deliveries of one kind that wait for a window.
type line struct {
	waiting int
	cut     bool // more deliveries are queued behind those that were read
}

// fill starts deliveries of two kinds until the window is full or no delivery may start. It calls start for each of
// them, with true for a customer.* event. A cut line is never regarded as empty: its deliveries may have the next turn.
func (w *Window) fill(others, customers line, start func(customer bool)) {
	for alone := false; w.Started < w.Limit; w.Started++ {
		turn := w.Started%KindShare == KindShare-1 && !alone
		switch {
		case customers.waiting > 0 && turn:
			customers.waiting--
			start(true)
		case customers.waiting > 0 && others.waiting == 0 && !others.cut && w.Started < w.Limit-w.Limit/KindShare:
			alone = true // for the rest of the window
			customers.waiting--
			start(true)
		case others.waiting > 0 && (!turn || !customers.cut):
			others.waiting--
			start(false)
		default:
			return
		}
	}
}
