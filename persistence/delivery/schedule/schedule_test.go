package schedule

import (
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// deliveries returns n deliveries whose events follow one another, beginning with a number.
func deliveries(first, n int) (queued []Delivery) {
	for i := range n {
		queued = append(queued, Delivery{
			ID:    app.DeliveryID(fmt.Sprint("dlv_", first+i)),
			Event: app.EventID(fmt.Sprintf("evt_%06d", first+i)), Due: noon,
		})
	}
	return queued
}

// unbounded are limits of which tests reach only the size of a claim.
func unbounded(batch int) Limits {
	return Limits{ClaimLimits: app.ClaimLimits{
		Batch: batch, SlowBatch: batch, Unproven: 10_000, Quick: 10_000, Slow: 10_000,
	}, PromptGrowth: 1, SlowPace: 10_000}
}

// healthy returns a healthy, quick subscription with queued deliveries.
func healthy(id app.SubscriptionID, queued [Classes][]Delivery) Subscription {
	return Subscription{ID: id, Healthy: true, Quick: true, Queued: queued, Read: 10_000}
}

// perQueue and perSubscription count claims.
func perQueue(claims []Claim) map[string]int {
	counts := map[string]int{}
	for _, c := range claims {
		counts[c.Queue.ID]++
	}
	return counts
}

func perSubscription(claims []Claim) map[app.SubscriptionID]int {
	counts := map[app.SubscriptionID]int{}
	for _, c := range claims {
		counts[c.Subscription.ID]++
	}
	return counts
}

func TestQueuesTakeTurns(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1_000} {
		many := Queue{ID: "many", Window: Window{Start: noon, Limit: limit}}
		for i := range 50 {
			id := app.SubscriptionID(fmt.Sprint("many", i))
			queued := [Classes][]Delivery{First: deliveries(100*i, 9)}
			many.Subscriptions = append(many.Subscriptions, healthy(id, queued))
		}
		one := Queue{ID: "one", Subscriptions: []Subscription{
			healthy("one", [Classes][]Delivery{First: deliveries(9_000, 300)}),
		}}
		few := Queue{ID: "few", Subscriptions: []Subscription{
			healthy("few", [Classes][]Delivery{First: deliveries(9_900, 3)}),
		}}
		decision := Decide(noon, Facts{Queues: []Queue{many, one, few}}, unbounded(63))
		want := map[string]int{"many": 30, "one": 30, "few": 3}
		if diff := gocmp.Diff(want, perQueue(decision.Claims)); diff != "" || !decision.More {
			t.Errorf("limit %d: got more %t, want true; claims by queue (-want +got): %s", limit, decision.More, diff)
		}
	}
}

// The sandboxes of a website share the turns of a website equally.
func TestSandboxesShareTurns(t *testing.T) {
	t.Parallel()
	var facts Facts
	for i, id := range []string{"web", "web/test:a", "web/test:b", "web/test:c", "other"} {
		facts.Queues = append(facts.Queues, Queue{ID: id, Subscriptions: []Subscription{
			healthy(app.SubscriptionID(id), [Classes][]Delivery{First: deliveries(1_000*i, 100)}),
		}})
	}
	decision := Decide(noon, facts, unbounded(63))
	want := map[string]int{"web": 21, "web/test:a": 7, "web/test:b": 7, "web/test:c": 7, "other": 21}
	if diff := gocmp.Diff(want, perQueue(decision.Claims)); diff != "" {
		t.Errorf("claims by queue (-want +got): %s", diff)
	}
}

// A full website gets no prompt deliveries. Its others do not wait, and neither do other websites.
func TestFullQueueWaits(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{0, 1_000} {
		slow := healthy("slow", [Classes][]Delivery{First: deliveries(500, 9)})
		slow.Healthy, slow.Quick, slow.Responses = false, false, 100
		full := Queue{ID: "full", Window: Window{Start: noon, Limit: limit}, Subscriptions: []Subscription{
			healthy("prompt", [Classes][]Delivery{First: deliveries(0, 9), Replay: deliveries(100, 9)}), slow,
		}}
		other := Queue{ID: "other", Subscriptions: []Subscription{
			healthy("other", [Classes][]Delivery{First: deliveries(200, 9)}),
		}}
		limits := unbounded(64)
		limits.Full = []string{"full"}
		decision := Decide(noon, Facts{Queues: []Queue{full, other}}, limits)
		want := map[app.SubscriptionID]int{"slow": 9, "other": 9}
		if diff := gocmp.Diff(want, perSubscription(decision.Claims)); diff != "" || !decision.More {
			t.Errorf("limit %d: got more %t, want true; claims by subscription (-want +got): %s",
				limit, decision.More, diff)
		}
	}
}

// A late website gets first deliveries to healthy, quick subscriptions only, also if starts are scarce. Other websites
// do not wait.
func TestLateWebsite(t *testing.T) {
	t.Parallel()
	for _, window := range []Window{{}, {Start: noon, Limit: 1_000}, {Start: noon, Limit: 1_000, Started: 980}} {
		of := func(website string) Queue {
			failing := healthy(app.SubscriptionID(website+" failing"), [Classes][]Delivery{First: deliveries(0, 9)})
			failing.Healthy, failing.Responses = false, 100
			queued := [Classes][]Delivery{First: deliveries(500, 3), Replay: deliveries(100, 4)}
			return Queue{ID: website, Window: window, Scarce: window.Started > 0, Subscriptions: []Subscription{
				healthy(app.SubscriptionID(website), queued), failing,
			}}
		}
		limits := unbounded(64)
		limits.Late = []string{"late"}
		decision := Decide(noon, Facts{Queues: []Queue{of("late"), of("other")}}, limits)
		want := map[app.SubscriptionID]int{"late": 3, "other": 7, "other failing": 9}
		if diff := gocmp.Diff(want, perSubscription(decision.Claims)); diff != "" {
			t.Errorf("%+v: claims by subscription (-want +got): %s", window, diff)
		}
	}
}

func TestSubscriptionsTakeTurnsUnlessScarce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		window Window
		scarce bool
		want   map[app.SubscriptionID]int
	}{
		{Window{}, false, map[app.SubscriptionID]int{"old": 5, "new": 5}},
		{Window{Limit: 500}, false, map[app.SubscriptionID]int{"old": 5, "new": 5}},
		{Window{Limit: 500, Started: 450}, true, map[app.SubscriptionID]int{"old": 10}},
		{Window{Limit: 500, Started: 496}, true, map[app.SubscriptionID]int{"old": 4}},
	} {
		queue := Queue{ID: "q", Window: test.window, Scarce: test.scarce, Subscriptions: []Subscription{
			healthy("new", [Classes][]Delivery{First: deliveries(500, 40)}),
			healthy("old", [Classes][]Delivery{First: deliveries(0, 40)}),
		}}
		got := perSubscription(Decide(noon, Facts{Queues: []Queue{queue}}, unbounded(10)).Claims)
		if diff := gocmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: claims by subscription (-want +got): %s", test, diff)
		}
	}
}

// If starts are scarce, deliveries behind the part of a subscription that was read do not start before it.
func TestScarceStartsStopAtUnreadDeliveries(t *testing.T) {
	t.Parallel()
	read := healthy("read", [Classes][]Delivery{First: deliveries(0, 5)})
	read.Read = 5
	queue := Queue{ID: "q", Window: Window{Limit: 50}, Scarce: true, Subscriptions: []Subscription{
		read, healthy("newer", [Classes][]Delivery{First: deliveries(4, 40)}),
	}}
	decision := Decide(noon, Facts{Queues: []Queue{queue}}, unbounded(10))
	want := map[app.SubscriptionID]int{"read": 5, "newer": 1}
	if diff := gocmp.Diff(want, perSubscription(decision.Claims)); diff != "" || !decision.More {
		t.Errorf("got more %t, want true; claims by subscription (-want +got): %s", decision.More, diff)
	}
}

func TestReplaysTakeAtMostHalfOfAWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		window         Window
		first, replays int
		want           int // claims of replays
	}{
		{Window{}, 10, 100, 100},
		{Window{Limit: 100}, 0, 100, 50},
		{Window{Limit: 100, Started: 10, Replays: 10}, 0, 100, 40},
		{Window{Limit: 100, Started: 80}, 0, 100, 20},
		{Window{Limit: 100, Started: 60, Replays: 60}, 0, 100, 0}, // counted before a downgrade
		{Window{Limit: 100}, 200, 30, 30},
	} {
		queue := Queue{ID: "q", Window: test.window, Subscriptions: []Subscription{healthy("s", [Classes][]Delivery{
			First: deliveries(0, test.first), Replay: deliveries(5_000, test.replays),
		})}}
		got := 0
		for _, c := range Decide(noon, Facts{Queues: []Queue{queue}}, unbounded(1_000)).Claims {
			if c.Class == Replay {
				got++
			}
		}
		if got != test.want {
			t.Errorf("%+v: got %d replays, want %d", test, got, test.want)
		}
	}
}

// The classes of a subscription take turns, also if the deliveries of one are older.
func TestClassesTakeTurns(t *testing.T) {
	t.Parallel()
	queue := Queue{ID: "q", Subscriptions: []Subscription{healthy("s", [Classes][]Delivery{
		deliveries(900, 50), deliveries(0, 50), deliveries(500, 50),
	})}}
	var got [Classes]int
	for _, c := range Decide(noon, Facts{Queues: []Queue{queue}}, unbounded(30)).Claims {
		got[c.Class]++
	}
	if got != [Classes]int{10, 10, 10} {
		t.Errorf("claims by class: got %v, want 10 of each", got)
	}
}

// A subscription with few places uses them for its oldest deliveries if starts are scarce.
func TestScarceStartsUsePlacesByAge(t *testing.T) {
	t.Parallel()
	for scarce, want := range map[bool][Classes]int{true: {Replay: 6}, false: {First: 3, Replay: 3}} {
		queue := Queue{ID: "q", Window: Window{Limit: 100}, Scarce: scarce, Subscriptions: []Subscription{
			healthy("s", [Classes][]Delivery{First: deliveries(500, 50), Replay: deliveries(0, 50)}),
		}}
		limits := unbounded(100)
		limits.Quick = 6
		var got [Classes]int
		for _, c := range Decide(noon, Facts{Queues: []Queue{queue}}, limits).Claims {
			got[c.Class]++
		}
		if got != want {
			t.Errorf("scarce %t: got claims by class %v, want %v", scarce, got, want)
		}
	}
}

// A failing subscription of a website costs its healthy ones no turns.
func TestLanesHaveSeparateTurns(t *testing.T) {
	t.Parallel()
	failing := healthy("failing", [Classes][]Delivery{First: deliveries(0, 50)})
	failing.Healthy = false
	facts := Facts{Queues: []Queue{
		{ID: "mixed", Subscriptions: []Subscription{
			failing, healthy("beside", [Classes][]Delivery{First: deliveries(500, 50)}),
		}},
		{ID: "other", Subscriptions: []Subscription{healthy("other", [Classes][]Delivery{First: deliveries(900, 50)})}},
	}}
	want := map[app.SubscriptionID]int{"failing": 10, "beside": 5, "other": 5}
	if diff := gocmp.Diff(want, perSubscription(Decide(noon, facts, unbounded(10)).Claims)); diff != "" {
		t.Errorf("claims by subscription (-want +got): %s", diff)
	}
}

func TestMore(t *testing.T) {
	t.Parallel()
	full := healthy("full", [Classes][]Delivery{First: deliveries(0, 5)})
	full.Pending = 20_000
	unread := healthy("unread", [Classes][]Delivery{First: deliveries(0, 5)})
	unread.Read = 5
	five := healthy("five", [Classes][]Delivery{First: deliveries(0, 5)})
	queue := func(w Window, subscriptions ...Subscription) Queue {
		return Queue{Window: w, Scarce: w.Limited(), Subscriptions: subscriptions}
	}
	of := func(queues ...Queue) Facts { return Facts{Queues: queues} }
	for name, test := range map[string]struct {
		facts Facts
		want  bool
	}{
		"nothing queued":              {Facts{}, false},
		"all start":                   {of(queue(Window{}, five)), false},
		"the plan allows no other":    {of(queue(Window{Limit: 4}, five)), false},
		"a subscription has no place": {of(queue(Window{}, full)), true},
		"deliveries may be unread":    {of(queue(Window{}, unread)), true},
		"queues are unread":           {Facts{Unread: true}, true},
		"the claim is too small":      {of(queue(Window{}, five), queue(Window{}, five)), true},
	} {
		if got := Decide(noon, test.facts, unbounded(9)).More; got != test.want {
			t.Errorf("%s: got more %t, want %t", name, got, test.want)
		}
	}
}
