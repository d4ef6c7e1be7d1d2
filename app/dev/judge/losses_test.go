package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/app"
)

// TestForget checks that a loss of Comanda's database explains what lies within it, and nothing else.
func TestForget(t *testing.T) {
	t.Parallel()
	lost := loss{Comanda: true, Begin: noon.Add(time.Hour), End: noon.Add(2 * time.Hour)}
	for name, apply := range map[string]func(b *book, at time.Time){
		"an operation whose order is lost": func(b *book, at time.Time) {
			b.h.Operations = append(b.h.Operations, operation{
				planned: planned{Number: 99, Site: "a", Kind: "place order"}, Begin: at, End: at, Result: done, Order: "o9",
			})
		},
		"a request whose event is lost": func(b *book, at time.Time) {
			b.h.Requests = append(b.h.Requests, request{At: at, Site: "a", Webhook: "w1", Event: "e-lost"})
		},
		"a request whose record is lost": func(b *book, at time.Time) {
			b.post("e-o2/w1", 204)
			b.h.Requests[len(b.h.Requests)-1].At = at
		},
		"a request before its event was dispatched again": func(b *book, at time.Time) {
			b.post("e-o2/w1", 204)
			last := &b.h.Requests[len(b.h.Requests)-1]
			last.At, last.Header = at, http.Header{"X-Webhook-Position": {"7"}}
		},
		"a request to a webhook that is lost": func(b *book, at time.Time) {
			b.h.Requests = append(b.h.Requests, request{At: at, Site: "a", Webhook: "w9", Event: "e-o2"})
		},
		"an order with a key whose revocation is lost": func(b *book, at time.Time) {
			b.h.Operations = append(b.h.Operations,
				operation{planned: planned{Site: "a", Kind: "revoke key"}, End: at, Result: done, Subject: "key"},
				operation{planned: planned{Site: "a", Kind: "use revoked key"}, End: noon, Result: done, Subject: "key"})
		},
		"deliveries whose workflows a lost deletion has closed": func(b *book, at time.Time) {
			b.h.Operations = append(b.h.Operations, operation{
				planned: planned{Site: "a", Kind: "delete webhook"}, End: at, Result: done, Webhook: "w1",
			})
			b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "cancelled", app.ReasonCancelled })
			delete(b.s.Workflows, "delivery/e-refunded/w1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			violations := func(at time.Time) (found []violation) {
				b := rightBook()
				b.s.Losses = []loss{lost}
				apply(b, at)
				forget(b.h, b.s)
				for _, c := range checkers {
					found = append(found, c.check(b.h, b.s)...)
				}
				return found
			}
			for _, at := range []time.Time{lost.Begin, lost.Begin.Add(time.Minute), lost.End} {
				if found := violations(at); len(found) > 0 {
					t.Errorf("%s, in lost time: got %v, want no violation", at, found)
				}
			}
			for _, at := range []time.Time{lost.Begin.Add(-time.Second), lost.End.Add(time.Minute)} {
				if len(violations(at)) == 0 {
					t.Errorf("%s, outside of lost time: got no violation, want one", at)
				}
			}
		})
	}
}

// loseBefore adds a loss of the minute before noon, a request of that time with the position of an event, and the time
// at which the event occurred.
func (b *book) loseBefore(event string, at time.Time) {
	b.s.Losses = []loss{{Comanda: true, Temporal: true, Begin: noon.Add(-time.Minute), End: noon}}
	e := b.s.Events[event]
	e.Body = new(fmt.Sprintf(`{"storeId":"st_a","timestamp":%q}`, at.Format(time.RFC3339)))
	b.h.Forgotten = []request{{Site: "a", At: noon.Add(-time.Second), Header: http.Header{
		"X-Webhook-Position": {strconv.FormatInt(e.Position, 10)},
	}}}
}

// TestDispatchedAgain checks that an event that occurred before the end of a loss may have a lost position.
func TestDispatchedAgain(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.loseBefore("e-paid", noon.Add(-time.Second))
	for _, v := range checkLostPositions(b.h, b.s) {
		t.Errorf("got %+v, want none", v)
	}
}

// TestLostRecords checks that a number of an attempt, the replay of a delivery and the workflow of a dead letter may be
// missing if they were lost, and not if the loss was earlier or later.
func TestLostRecords(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(b *book) (begin, end time.Time){
		"attempt": func(b *book) (begin, end time.Time) {
			list := b.s.Attempts["e-o1/w2"]
			b.s.Attempts["e-o1/w2"] = append(list[:1:1], list[2:]...)
			return b.s.Deliveries["e-o1/w2"].CreatedAt, list[2].At
		},
		"first attempt": func(b *book) (begin, end time.Time) {
			list := b.s.Attempts["e-o1/w2"]
			b.s.Attempts["e-o1/w2"] = list[1:]
			return b.s.Deliveries["e-o1/w2"].CreatedAt, list[1].At
		},
		"replay": func(b *book) (begin, end time.Time) {
			b.attempt("e-o2/w1", 204)
			list := b.s.Attempts["e-o2/w1"]
			return list[0].At, list[1].At
		},
		"workflow": func(b *book) (begin, end time.Time) {
			delete(b.s.Workflows, "delivery/e-refunded/w1")
			list := b.s.Attempts["e-refunded/w1"]
			return list[2].At, noon.Add(time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			violations := func(from, to time.Time) []violation {
				b := rightBook()
				b.s.Losses = []loss{{Comanda: true, Temporal: true, Begin: from, End: to}}
				lose(b)
				return append(checkAttempts(b.h, b.s), checkWorkflows(b.h, b.s)...)
			}
			begin, end := lose(rightBook())
			if found := violations(begin, end); len(found) > 0 {
				t.Errorf("lost: got %v, want no violation", found)
			}
			if len(violations(noon.Add(-time.Minute), begin)) == 0 {
				t.Error("lost before: got no violation, want one")
			}
			if len(violations(end, end.Add(time.Minute))) == 0 {
				t.Error("lost later: got no violation, want one")
			}
		})
	}
}

// TestAttemptsAfterALoss checks that a number may be missing that a workflow gave to a lost attempt, although a first
// attempt was made again since then.
func TestAttemptsAfterALoss(t *testing.T) {
	t.Parallel()
	b := rightBook()
	list := b.s.Attempts["e-o1/w2"]
	b.s.Losses = []loss{{Comanda: true, Begin: b.s.Deliveries["e-o1/w2"].CreatedAt, End: list[0].At}}
	b.s.Attempts["e-o1/w2"] = append(list[:1:1], list[2:]...)
	for _, v := range checkAttempts(b.h, b.s) {
		t.Errorf("got %+v, want none", v)
	}
}

// TestLostDeletion checks that the teardown of a lost deletion may have cancelled deliveries from before the end of the
// loss and its aftermath, and no later ones.
func TestLostDeletion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after time.Duration // from the end of the loss to the creation and the end of the deliveries
		want  int
	}{
		"during the loss": {-time.Second, 0}, "during the fault": {time.Second, 0}, "in the aftermath": {aftermath, 0},
		"later": {time.Minute, 2},
	} {
		b := rightBook()
		lost := loss{Comanda: true, Begin: noon.Add(-time.Minute), End: noon.Add(-test.after)}
		b.s.Losses = []loss{lost}
		b.h.addDisturbance(disturbance{Begin: lost.Begin, End: lost.End.Add(5 * time.Second)})
		b.h.Operations = append(b.h.Operations, operation{
			planned: planned{Site: "a", Kind: "delete webhook"}, End: lost.Begin, Webhook: "w1",
		})
		b.last("e-o2/w1", func(d *deliveryRow) { d.Status, d.Reason = "cancelled", app.ReasonCancelled })
		delete(b.s.Workflows, "delivery/e-refunded/w1")
		if found := append(checkEnds(b.h, b.s), checkWorkflows(b.h, b.s)...); len(found) != test.want {
			t.Errorf("%s: got %v, want %d violations", name, found, test.want)
		}
	}
}

// TestMailQueuedByARestore checks that a mail which a restored database shows as queued again may stay so.
func TestMailQueuedByARestore(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.s.Mails[0].Status, b.s.Mails[0].CreatedAt = "queued", noon
	lost := loss{Comanda: true, Begin: noon.Add(-time.Minute), End: noon.Add(time.Minute)}
	b.s.Losses = []loss{lost}
	b.h.addDisturbance(disturbance{Fault: "restore-comanda", Begin: lost.Begin, End: lost.End})
	if found := checkMails(b.h, b.s); len(found) > 0 {
		t.Errorf("got %v, want no violation", found)
	}
}

// noWorkflows is a Temporal without workflows.
type noWorkflows struct{ client.Client }

func (noWorkflows) ListWorkflow(
	context.Context, *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, nil
}

// TestOpenWorkflows checks that the search for open workflows does not wait for the workflow of a dead letter which the
// teardown of a lost deletion has closed.
func TestOpenWorkflows(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.did(operation{planned: planned{Site: "a", Kind: "delete webhook"}, Webhook: "w1"})
	b.s.Losses = []loss{{Comanda: true, Begin: noon, End: b.at.Add(time.Minute)}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if open, err := openWorkflows(ctx, noWorkflows{}, b.h, b.s); len(open) > 0 || err != nil {
		t.Errorf("got %v, error %v, want none", open, err)
	}
}

// TestDeliveredAgain checks that the workflow of a delivery may wait as a dead letter if a restored database lacks
// that, and the delivery was made again.
func TestDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := rightBook()
	b.s.Workflows["delivery/e-o2/w1"] = "dead_letter"
	created := b.s.Deliveries["e-o2/w1"].CreatedAt
	for end, want := range map[time.Time]int{created: 1, created.Add(time.Second): 0} {
		b.s.Losses = []loss{{Comanda: true, Begin: noon.Add(-time.Hour), End: end}}
		if found := checkWorkflows(b.h, b.s); len(found) != want {
			t.Errorf("loss until %s: got %v, want %d violations", end, found, want)
		}
	}
}

// TestPlanAfterARestore checks that first attempts are counted in a window a minute after a fault, but not after a
// restore, whose deliveries wait for the repair of their workflows.
func TestPlanAfterARestore(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]bool{"kill-worker": true, "restore-comanda": false} {
		b := newBook()
		b.open("a")
		b.s.Window = 10 * time.Second
		b.h.addDisturbance(disturbance{Fault: fault, Begin: noon, End: noon.Add(time.Second)})
		starts := noon.Add(time.Minute).UnixNano()
		if _, judged := b.s.judgedLimit(b.h, window{"ws_a", starts}); judged != want {
			t.Errorf("%s: got %t, want %t", fault, judged, want)
		}
	}
}

// attemptLate adds n deliveries that are claimed before the end of a window and attempted after it.
func (b *book) attemptLate(n int, change func(*deliveryRow)) {
	ends := noon.Add(b.s.Window)
	for n := range n {
		id := fmt.Sprint("late-", n)
		claimed := deliveryRow{
			logged: logged{At: ends.Add(-time.Second)}, ID: id, Webhook: "late", Queue: "ws_b", Status: "pending",
			CountedIn: &noon,
		}
		change(&claimed)
		recorded := claimed
		recorded.Status, recorded.Attempts = "delivered", 1
		b.s.Deliveries[id], b.s.Steps[id] = recorded, []deliveryRow{claimed, recorded}
		b.s.Attempts[id] = []attemptRow{{Number: 1, At: ends.Add(time.Second), Status: "delivered"}}
	}
}

// TestFirstAttemptsThatWaitForAWorker checks that replays, and deliveries to a webhook that has failed, may exceed the
// plan of a later window.
func TestFirstAttemptsThatWaitForAWorker(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(*book){
		"replays": func(b *book) { b.attemptLate(501, func(d *deliveryRow) { d.Class = classReplay }) },
		"a failed webhook": func(b *book) {
			b.attemptLate(501, func(*deliveryRow) {})
			b.s.Attempts["late-0"] = []attemptRow{{Number: 1, At: noon, Status: "failed"}}
		},
	} {
		b := rightBook()
		b.s.Window = 10 * time.Second
		late(b)
		if found := b.s.checkMade(b.h); len(found) > 0 {
			t.Errorf("%s: got %+v, want none", name, found)
		}
	}
}
