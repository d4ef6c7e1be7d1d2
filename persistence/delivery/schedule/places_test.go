package schedule

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// production are limits like those of production.
var production = Limits{
	ClaimLimits: app.ClaimLimits{
		Batch: 64, SlowBatch: 16, Burst: 32, BurstBatch: 512, Unproven: 8, Quick: 800, Slow: 50,
	},
	PromptGrowth: 2, SlowPace: 2,
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		subscription Subscription
		want         int
	}{
		"unproven":              {Subscription{Healthy: true, Quick: true}, 8},
		"hangs":                 {Subscription{Healthy: true, Quick: true, Pending: 8}, 0},
		"responds":              {Subscription{Healthy: true, Quick: true, Pending: 8, Responses: 3}, 3},
		"prompt":                {Subscription{Healthy: true, Quick: true, Pending: 8, Responses: 3, Prompt: 3}, 6},
		"prompt at times":       {Subscription{Healthy: true, Quick: true, Pending: 8, Responses: 3, Prompt: 1}, 4},
		"prompt, in limit":      {Subscription{Healthy: true, Quick: true, Responses: 400, Prompt: 400}, 800},
		"fails":                 {Subscription{Quick: true, Pending: 2, Responses: 10, Prompt: 10}, 16},
		"fails, in limit":       {Subscription{Quick: true, Responses: 100, Prompt: 100}, 50},
		"above the limit":       {Subscription{Quick: true, Pending: 60, Responses: 100, Prompt: 100}, -10},
		"is slow":               {Subscription{Healthy: true}, 2},
		"is slow, just claimed": {Subscription{Healthy: true, Pending: 2, Young: 2}, 0},
		"is slow and responds":  {Subscription{Healthy: true, Pending: 9, Young: 1, Responses: 10}, 6},
		"is slow, in limit":     {Subscription{Pending: 45, Responses: 100}, 5},
	} {
		if got := production.places(&test.subscription); got != test.want {
			t.Errorf("%s: got %d places, want %d", name, got, test.want)
		}
	}
}

// More responses never take places, and more pending deliveries never give any.
func TestPlacesGrowWithResponses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSubscription(t, "one")
		places := production.places(&s)
		if most := max(production.Quick, production.Slow) - s.Pending; places > most {
			t.Fatalf("%+v: got %d places, want at most %d", s, places, most)
		}
		more := s
		more.Responses++
		if got := production.places(&more); got < places {
			t.Fatalf("one response more than %+v: got %d places, want at least %d", s, got, places)
		}
		more = s
		more.Pending++
		if got := production.places(&more); got > places {
			t.Fatalf("one pending delivery more than %+v: got %d places, want at most %d", s, got, places)
		}
	})
}
