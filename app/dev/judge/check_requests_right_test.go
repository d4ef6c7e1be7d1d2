package main

import (
	"slices"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestInterruptedAttempt checks that an attempt may be repeated if it was in flight at a fault or its record was
// missing, and that a fault at the repetition is none at the attempt. The last request of a delivery may lack a record
// if the delivery ended without a further attempt.
func TestInterruptedAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		begin, end time.Duration // of the fault, from the arrival of the first request
		again      time.Duration // from there to the repetition; 0 = none
		reason     string        // for which the delivery ends without a further attempt
		want       int
	}{
		"killed during the request":             {begin: 2 * time.Second, end: 5 * time.Second, again: 12 * time.Second},
		"killed before the record":              {begin: 7 * time.Second, end: 9 * time.Second, again: 17 * time.Second},
		"suspended for longer than the timeout": {begin: time.Second, end: time.Minute, again: 9 * time.Second},
		"no record, because of a fault before":  {begin: -10 * time.Second, end: -time.Second, again: 9 * time.Second},
		"a fault at the repetition":             {begin: time.Minute, end: 2 * time.Minute, again: time.Minute, want: 1},
		"a fault between":                       {begin: time.Minute, end: 2 * time.Minute, again: time.Hour, want: 1},
		"inactive after the request":            {begin: time.Second, end: time.Minute, reason: app.ReasonInactive},
		"inactive long before the fault":        {begin: time.Minute, end: time.Hour, reason: app.ReasonInactive, want: 1},
		"inactive after an interrupted repetition": {
			begin: time.Hour, end: 2 * time.Hour, again: time.Hour, reason: app.ReasonInactive,
		},
	} {
		b := rightBook()
		first := &b.h.Requests[b.of("e-o2/w1")[0]]
		first.Answered = first.At.Add(3 * time.Second)
		b.h.addDisturbance(disturbance{Begin: first.At.Add(test.begin), End: first.At.Add(test.end)})
		if test.reason != "" {
			b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "dead_letter", test.reason })
		}
		if test.again != 0 {
			b.h.Requests = append(b.h.Requests, *first)
			last := &b.h.Requests[len(b.h.Requests)-1]
			last.At, last.Answered = last.At.Add(test.again), last.Answered.Add(test.again)
		} else {
			b.s.Attempts["e-o2/w1"] = nil
		}
		if found := checkDuplicates(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestLateArrival checks that the response to a request that arrived late may be missing in the record of an attempt
// that timed out, and not if the request arrived in time.
func TestLateArrival(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]int{deliveryTimeout: 0, deliveryTimeout / 2: 1} {
		b := rightBook()
		first := &b.h.Requests[b.of("e-o1/w1")[0]]
		first.Status = 204
		failed := &b.s.Attempts["e-o1/w1"][0]
		failed.StatusCode, failed.At = 0, first.At.Add(-took)
		if found := checkAttempts(b.h, b.s); len(found) != want {
			t.Errorf("%s: got %+v, want %d violations", took, found, want)
		}
	}
}

// TestSuspendedSender checks that a response which was sent after the timeout may be recorded if the worker was
// suspended, and may be missing in any case.
func TestSuspendedSender(t *testing.T) {
	t.Parallel()
	for _, recorded := range []int{0, 204} {
		b := rightBook()
		places := b.of("e-o1/w1")
		r := &b.h.Requests[places[0]]
		r.Status, r.Answered = 204, r.At.Add(tooLate)
		b.s.Attempts["e-o1/w1"][0].StatusCode = recorded
		if recorded != 0 {
			b.h.addDisturbance(disturbance{Fault: "suspend-worker", Begin: r.At, End: r.At.Add(time.Minute)})
		}
		if found := checkAttempts(b.h, b.s); len(found) > 0 {
			t.Errorf("%d is recorded: got %+v, want none", recorded, found)
		}
	}
}

// TestRepeatedMail checks that a mail may arrive again at a fault before its end, also by a clock that differs, and a
// mail that became obsolete as often as there are faults.
func TestRepeatedMail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mail, fault string
		begin       time.Duration // of the fault, from the creation of the mail
		want        int
	}{
		"at a fault":                 {"m1", "kill-worker", time.Second, 0},
		"at a fault of an API":       {"m1", "kill-serve", time.Second, 1},
		"at a later fault":           {"m1", "kill-worker", time.Minute, 1},
		"a clock is ahead":           {"m1", "clock-worker", time.Minute, 0},
		"obsolete after an attempt":  {"m2", "kill-worker", time.Second, 0},
		"obsolete without a failure": {"m2", "kill-worker", time.Hour, 1},
	} {
		b := rightBook()
		b.h.End = b.at.Add(10 * time.Minute)
		for i := range b.s.Mails {
			b.s.Mails[i].CreatedAt, b.s.Mails[i].EndedAt = b.at, new(b.at.Add(2*time.Second))
		}
		b.h.Mails = append(b.h.Mails, test.mail)
		begin := b.at.Add(test.begin)
		b.h.addDisturbance(disturbance{
			Fault: test.fault, Gentle: slices.Contains(gentle, test.fault), Begin: begin, End: begin.Add(time.Second),
		})
		if found := checkMails(b.h, b.s); len(found) != test.want {
			t.Errorf("%s: got %+v, want %d violations", name, found, test.want)
		}
	}
}

// TestDelayedRequest checks that a fault around a request may delay it until its webhook is deleted.
func TestDelayedRequest(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.later("e-o3/w3")
	b.h.addDisturbance(disturbance{Begin: noon.Add(58 * time.Minute), End: noon.Add(time.Hour - aftermath)})
	if found := checkSilence(b.h, b.s); len(found) > 0 {
		t.Errorf("got %+v, want none", found)
	}
}

// TestIntrusion checks that a request may arrive between those of another delivery at a fault, after a loss, to a
// webhook that was not always ordered, and if a further request was not recorded.
func TestIntrusion(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *book){
		"fault": func(b *book) { b.h.addDisturbance(disturbance{Begin: noon.Add(-time.Minute), End: noon}) },
		"loss": func(b *book) {
			b.h.addDisturbance(disturbance{
				Fault: "empty-temporal", Begin: noon.Add(-recovery), End: noon.Add(-recovery / 2),
			})
		},
		"order": func(b *book) {
			before := b.s.Webhooks["w1"][0]
			before.Ordering = "none"
			b.s.Webhooks["w1"] = append([]webhookRow{before}, b.s.Webhooks["w1"]...)
		},
		"unrecorded": func(b *book) { b.post("e-o1/w1", 0) },
	} {
		b := rightBook()
		b.intrude()
		if len(checkTurns(b.h, b.s)) == 0 {
			t.Fatal("got no violation, want one")
		}
		change(b)
		if found := checkTurns(b.h, b.s); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}
