package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// window identifies a window of a plan.
type window struct {
	queue  string
	starts int64 // Unix time in ns
}

// counts are the starts that a window must count, and those that it may count in addition: a start that ends without an
// attempt after its window has been deleted cannot be taken back. late are those that were taken back until their
// attempt was recorded, and may exceed the plan.
type counts struct{ started, replays, deleted, late int }

// checkPlans checks docs/behaviour.md#plan-rate: a window counts each claim that was attempted, not more than the plan
// allows, of which at most half are replays. First attempts are made in the window that counts them, unless a fault
// delays them or they wait for a worker.
func checkPlans(h *history, s *state) (found []violation) {
	expected := map[window]*counts{}
	for _, d := range s.everyDelivery() {
		for _, run := range runs(s.Steps[d.ID]) {
			if n := s.countStarts(expected, run); n > 0 && run[len(run)-1].Attempts == run[len(run)-1].ScheduleBase {
				found = append(found, ofDelivery(d, "is counted as %d starts and was never attempted", n))
			}
		}
	}
	for _, w := range s.Windows {
		of := window{w.Queue, w.StartsAt.UnixNano()}
		want := expected[of]
		if want == nil {
			want = &counts{}
		}
		delete(expected, of)
		more, moreReplays := w.Started-want.started, w.ReplayStarted-want.replays
		if more < 0 || more > want.deleted || moreReplays < 0 || moreReplays > want.deleted {
			found = append(found, ofWindow(w, "counts %d starts and %d of replays, want %d and %d, and at most %d more",
				w.Started, w.ReplayStarted, want.started, want.replays, want.deleted))
		}
		limit, limited := s.limit(h, w.Queue, w.StartsAt)
		if limited && (w.Started > limit+want.late || w.ReplayStarted > limit/2+want.late) {
			found = append(found, ofWindow(w, "has %d starts and %d of replays, the plan allows %d and %d", w.Started,
				w.ReplayStarted, limit, limit/2))
		}
	}
	for of, want := range expected {
		if want.started > 0 {
			found = append(found, violation{Text: fmt.Sprintf("%d starts of %s are in no window", want.started, of.queue)})
		}
	}
	return append(found, s.checkMade(h)...)
}

func ofWindow(w windowRow, format string, args ...any) violation {
	return violation{Text: fmt.Sprintf("window %s of %s ", w.StartsAt.Format(time.TimeOnly), w.Queue) +
		fmt.Sprintf(format, args...)}
}

// firstAttempts counts the first attempts by the windows of their times. It omits those that may have waited for a
// worker until their window had passed.
func (s *state) firstAttempts() map[window]int {
	made, failed := map[window]int{}, s.firstFailures()
	for _, d := range s.everyDelivery() {
		attempts := map[int]attemptRow{}
		for _, a := range s.Attempts[d.ID] {
			attempts[a.Number] = a
		}
		for _, run := range runs(s.Steps[d.ID]) {
			last := run[len(run)-1]
			first, ok := attempts[last.ScheduleBase+1]
			if ok && last.CountedIn != nil && !s.waitedForWorker(run, first.At, failed[d.Webhook]) {
				made[window{d.Queue, app.PlanWindow(first.At, s.Window).UnixNano()}]++
			}
		}
	}
	return made
}

// firstFailures returns the times of the first failed attempts of webhooks.
func (s *state) firstFailures() map[string]time.Time {
	failed := map[string]time.Time{}
	for _, d := range s.everyDelivery() {
		for _, a := range s.Attempts[d.ID] {
			if at, known := failed[d.Webhook]; a.Status != "delivered" && (!known || a.At.Before(at)) {
				failed[d.Webhook] = a.At
			}
		}
	}
	return failed
}

// waitedForWorker reports whether a first attempt was made later than its window, and so long after its claim that it
// may have waited for a worker (docs/behaviour.md#plan-rate). Only replays, and deliveries to webhooks that failed
// before, wait outside of the worker that starts them.
func (s *state) waitedForWorker(run []deliveryRow, at, failed time.Time) bool {
	last := run[len(run)-1]
	claim := slices.IndexFunc(run, func(d deliveryRow) bool {
		return d.Status == "pending" && d.CountedIn != nil && d.CountedIn.Equal(*last.CountedIn)
	})
	if claim < 0 || run[claim].Burst != nil {
		return false
	}
	claimed, ends := run[claim].At, last.CountedIn.Add(s.Window)
	waits := run[claim].isReplay() || !failed.IsZero() && failed.Before(claimed)
	return waits && !at.Before(ends) && at.Sub(claimed) > ends.Sub(app.LastPlanStart(*last.CountedIn, s.Window))
}

// checkMade compares the first attempts by their times with the limit.
func (s *state) checkMade(h *history) (found []violation) {
	for of, n := range s.firstAttempts() {
		limit, judged := s.judgedLimit(h, of)
		if judged && n > limit {
			found = append(found, violation{Text: fmt.Sprintf("%d first attempts of %s in window %s, the plan allows %d", n,
				of.queue, time.Unix(0, of.starts).Format(time.TimeOnly), limit)})
		}
	}
	return found
}

// judgedLimit returns the limit of the first attempts in a window. judged is false if there is none, or if a fault may
// have moved attempts into the window.
func (s *state) judgedLimit(h *history, of window) (limit int, judged bool) {
	starts := time.Unix(0, of.starts)
	limit, limited := s.limit(h, of.queue, starts)
	return limit, limited && !h.stepped(starts) && h.settled(starts.Add(-s.Window), starts.Add(s.Window))
}

// countStarts counts the starts of a run in their windows, and returns the number of those that stay counted. A burst
// whose window has passed before it started moves to a later one.
func (s *state) countStarts(expected map[window]*counts, run []deliveryRow) (n int) {
	add := func(d deliveryRow, in *time.Time, more int) {
		of := window{d.Queue, in.UnixNano()}
		if expected[of] == nil {
			expected[of] = &counts{}
		}
		expected[of].started += more
		if d.isReplay() {
			expected[of].replays += more
		}
		if more < 0 && s.wasDeleted(of, d.At) {
			expected[of].deleted++
		}
	}
	for i, to := range run[1:] {
		from := run[i]
		switch {
		case from.Status == "queued" && to.Status == "pending" && to.CountedIn != nil:
			n++
			add(to, to.CountedIn, 1)
		case from.Status == "pending" && to.Status == "queued" && from.CountedIn != nil:
			n--
			add(to, from.CountedIn, -1)
		case from.Status == "pending" && to.Status == "pending" && from.CountedIn != nil && to.CountedIn != nil &&
			to.CountedIn.After(*from.CountedIn):
			add(to, from.CountedIn, -1)
			add(to, to.CountedIn, 1)
		case from.Status == "pending" && to.ended() && to.Attempts == to.ScheduleBase && to.CountedIn != nil:
			n--
			add(to, to.CountedIn, -1)
		case from.Status != "pending" && from.Attempts == from.ScheduleBase && to.Attempts > to.ScheduleBase &&
			to.CountedIn != nil:
			n++
			add(to, to.CountedIn, 1)
			expected[window{to.Queue, to.CountedIn.UnixNano()}].late++
		}
	}
	return n
}

// deletion is the maximum time between the deletion of a window and the commit.
const deletion = time.Second

// wasDeleted reports whether a window was deleted before a time, or at about that time.
func (s *state) wasDeleted(of window, before time.Time) bool {
	return slices.ContainsFunc(s.Windows, func(w windowRow) bool {
		return w.Queue == of.queue && w.StartsAt.UnixNano() == of.starts && !w.At.IsZero() &&
			before.After(w.At.Add(-deletion))
	})
}

// planLag is the time in which a relay may use the plan before a change of it.
const planLag = 5 * time.Second

// limit returns the largest number of starts that the plans of a queue allow in a window. limited is false if one of
// them was unlimited. All plans count if the clock that dates windows and plans was stepped.
func (s *state) limit(h *history, queue string, starts time.Time) (limit int, limited bool) {
	versions := s.Websites[queue]
	if versions == nil { // a sandbox
		return app.PlanStarter.PerWindow()
	}
	ends := starts.Add(s.Window + planLag)
	for i, v := range versions {
		replaced := i+1 < len(versions) && versions[i+1].At.Before(starts.Add(-planLag))
		if (replaced || v.At.After(ends)) && !h.stepped(starts) {
			continue
		}
		n, ok := app.Plan(v.Plan).PerWindow()
		if !ok {
			return 0, false
		}
		limit = max(limit, n)
	}
	return limit, true
}
