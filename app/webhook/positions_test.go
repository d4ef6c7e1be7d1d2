package webhook_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/comanda-dev/comanda/app/webhook"
)

func orderEvent(resource string, position int64) webhook.Event {
	return webhook.Event{Type: webhook.OrderStatusUpdated, Resource: resource, Position: position}
}

func TestLastPosition(t *testing.T) {
	t.Parallel()
	l := webhook.LastPosition{Limit: 3}
	payment := orderEvent("order/1", 1)
	payment.Type = webhook.PaymentSucceeded
	for i, step := range []struct {
		event webhook.Event
		want  bool
	}{
		{orderEvent("order/1", 5), false},
		{orderEvent("order/1", 4), true},
		{orderEvent("order/1", 5), false}, // another attempt
		{payment, false},
		{orderEvent("order/1", 0), false}, // a test
		{orderEvent("order/2", 4), false}, // another resource
		{orderEvent("order/1", 1<<53-1), false},
		{orderEvent("order/1", 1<<53-2), true},
	} {
		if got := l.Outdated(step.event); got != step.want {
			t.Errorf("step %d, %+v: got outdated %v, want %v", i, step.event, got, step.want)
		}
	}
	// The least recently used resource is forgotten.
	l.Outdated(orderEvent("order/3", 9))
	l.Outdated(orderEvent("order/1", 1))
	l.Outdated(orderEvent("order/4", 9))
	for resource, want := range map[string]bool{"order/1": true, "order/3": true, "order/4": true} {
		if got := l.Outdated(orderEvent(resource, 1)); got != want {
			t.Errorf("%s: got outdated %v, want %v", resource, got, want)
		}
	}
	if l.Outdated(orderEvent("order/2", 1)) {
		t.Error("forgotten resource: got outdated, want not")
	}
}

// A verified event has the position and the resource of its request. Malformed headers count as absent.
func TestPositionOfEvent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"3632120150016000": 3632120150016000, "": 0, "-1": 0, "x": 0} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			header := spec(secret, now, body)
			header.Set("X-Webhook-Position", text)
			header.Set("X-Webhook-Resource", "order/ord_1")
			event, err := verifier(t, secret).VerifyBody(header, []byte(body))
			if err != nil || event.Position != want || event.Resource != "order/ord_1" {
				t.Errorf("position %s: got %+v and error %v, want %s", text, event, err, strconv.FormatInt(want, 10))
			}
		})
	}
}
