package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestBulkReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.must(w.db.EndDelivery(t.Context(), noon, own.delivery.ID, app.DeliveryDeadLetter, "test"))
	w.now = noon.Add(time.Minute)
	owner := w.tokens["OWNER"]
	path := "/webhooks/" + string(own.webhook.ID)
	hour := app.At(noon.Add(-time.Hour))
	want := app.BulkReplay{
		SubscriptionID: own.webhook.ID, DeliveryStatus: app.ReplayedDeadLetters, From: hour, To: app.At(w.now),
		Status: app.ReplayDryRun, Matched: new(int64(1)), CreatedAt: app.At(w.now),
	}
	var got app.BulkReplay
	w.do("POST", path+"/replay", owner, object{"from": hour, "dryRun": true}).ok(202, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("dry run (-want +got):", diff)
	}
	w.do("POST", path+"/replay", owner, object{"from": hour, "status": "delivered", "eventType": "order.created",
		"to": app.At(noon.Add(time.Hour)), "dryRun": true}).ok(202, &got)
	if *got.Matched != 0 || got.EventType != app.EventOrderCreated || got.To != app.At(noon.Add(time.Hour)) {
		t.Errorf("dry run of delivered ones: got %+v, want no matches", got)
	}
	key := header("Idempotency-Key", "once")
	got = app.BulkReplay{}
	first := w.do("POST", path+"/replay", owner, object{"from": hour}, key).ok(202, &got)
	want.ID, want.Status, want.Matched = got.ID, app.ReplayRunning, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("created (-want +got):", diff)
	}
	if again := w.do("POST", path+"/replay", owner, object{"from": hour}, key).ok(202,
		nil); again.Body.String() != first.Body.String() {
		t.Errorf("repeated request: got %s, want %s", again.Body, first.Body)
	}
	w.do("POST", path+"/replay", owner, object{"from": hour, "dryRun": true}, key).refused(app.CodeIdempotencyKeyReused)

	_, err := w.db.ContinueBulkReplay(t.Context(), w.now, own.id, got.ID, app.DefaultReplayLimits())
	w.must(err)
	at := app.At(w.now)
	want.Status, want.Matched = app.ReplayCompleted, new(int64(1))
	want.Replayed, want.InProgress, want.EndedAt = 1, 1, &at
	want.Outcomes = &app.ReplayOutcomes{}
	for _, show := range []string{path + "/replays/" + string(got.ID), "/replays/" + string(got.ID)} {
		got = app.BulkReplay{}
		w.do("GET", show, owner, nil).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("GET %s (-want +got): %s", show, diff)
		}
	}
	w.exec("UPDATE deliveries SET status = 'dead_letter' WHERE id = $1", own.delivery.ID)
	w.do("GET", "/replays/"+string(got.ID), owner, nil).ok(200, &got)
	w.exec("UPDATE deliveries SET status = 'queued' WHERE id = $1", own.delivery.ID)
	if want := (app.ReplayOutcomes{DeadLetters: 1}); got.InProgress != 0 || *got.Outcomes != want {
		t.Errorf("outcomes: got %+v with %d in progress, want %+v with none", *got.Outcomes, got.InProgress, want)
	}
	w.do("POST", "/replays/"+string(got.ID)+"/cancel", owner, nil).refused(app.CodeConflict)
	w.do("POST", "/replays/"+string(own.replay.ID)+"/cancel", owner, nil).ok(200, &got)
	if got.Status != app.ReplayCancelled || got.Reason != app.ReasonReplayCancelled {
		t.Errorf("cancelled: got %+v, want the reason %q", got, app.ReasonReplayCancelled)
	}
	var d app.Delivery
	w.do("GET", "/deliveries/"+string(own.delivery.ID), owner, nil).ok(200, &d)
	if d.Status != app.DeliveryQueued {
		t.Errorf("got the delivery %+v, want it still queued", d)
	}
}

// list makes the step of a bulk replay that counts its deliveries, without queueing one.
func (w *world) list(store app.StoreID, replay app.BulkReplay) {
	w.Helper()
	limits := app.DefaultReplayLimits()
	limits.Waiting = 0
	_, err := w.db.ContinueBulkReplay(w.Context(), w.now, store, replay.ID, limits)
	w.must(err)
}

// Dead letters are replayed group by group, as GET /dead-letters shows them.
func TestBulkReplayOfAGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.record(1, app.AttemptDeadLetter, 500)
	w.now = noon.Add(time.Minute)
	owner := w.tokens["OWNER"]
	var groups []app.DeadLetters
	w.do("GET", "/dead-letters", owner, nil).ok(200, &groups)
	if len(groups) != 1 || groups[0].Reason == "" {
		t.Fatalf("dead letters: got %+v, want one group with a reason", groups)
	}
	for _, path := range []string{"/replays", "/webhooks/" + string(own.webhook.ID) + "/replay"} {
		for reason, want := range map[string]int64{groups[0].Reason: 1, "another": 0, "": 1} {
			body := object{"from": noon.Add(-time.Hour), "reason": reason}
			var counted, created, shown app.BulkReplay
			w.do("POST", path, owner, altered(body, object{"dryRun": true})).ok(202, &counted)
			w.do("POST", path, owner, body).ok(202, &created)
			w.list(own.id, created)
			w.do("GET", "/replays/"+string(created.ID), owner, nil).ok(200, &shown)
			for what, got := range map[string]app.BulkReplay{"dry run": counted, "shown": shown} {
				if *got.Matched != want || got.DeliveryReason != reason {
					t.Errorf("POST %s of %q, %s: got %+v, want %d matches", path, reason, what, got, want)
				}
			}
		}
	}
}

// Lists of a webhook's and of a store's bulk replays, page by page. A cursor of one list is invalid for
// another.
func TestBulkReplayLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	for i := range 4 {
		w.now = noon.Add(time.Duration(i+1) * time.Second)
		w.do("POST", map[bool]string{true: path + "/replay", false: "/replays"}[i < 2], w.tokens["OWNER"],
			object{"from": noon.Add(-time.Hour)}).ok(202, nil)
	}
	of := "&webhookId=" + string(own.webhook.ID)
	for filter, want := range map[string]int{"": 5, of: 3} {
		var all []app.BulkReplay
		for cursor, next := "", true; next; {
			var page []app.BulkReplay
			a := w.do("GET", "/replays?limit=2"+filter+cursor, w.tokens["OWNER"], nil).ok(200, &page)
			all = append(all, page...)
			var sealed string
			if sealed, next = a.body.Meta["nextCursor"].(string); next {
				cursor = "&cursor=" + sealed
			}
		}
		for i := range len(all) - 1 {
			if all[i].ID <= all[i+1].ID {
				t.Errorf("filter %q: got %s before %s, want the newest first", filter, all[i].ID, all[i+1].ID)
			}
		}
		if len(all) != want || all[0].SubscriptionID != "" && filter == "" {
			t.Errorf("filter %q: got %+v, want %d bulk replays", filter, all, want)
		}
	}
	var other app.Subscription
	w.do("POST", "/webhooks", w.tokens["OWNER"], webhookBody()).ok(201, &other)
	for _, filter := range []string{"", of} {
		a := w.do("GET", "/replays?limit=2"+filter, w.tokens["OWNER"], nil).ok(200, nil)
		w.do("GET", "/replays?limit=2&webhookId="+string(other.ID)+"&cursor="+a.body.Meta["nextCursor"].(string),
			w.tokens["OWNER"], nil).
			refused(app.CodeValidationFailed, "cursor")
	}
	for _, store := range []string{"sibling", "foreign"} {
		w.do("GET", "/replays?webhookId="+string(w.stores[store].webhook.ID), w.tokens["OWNER"], nil).
			refused(app.CodeNotFound)
	}
}

// A bulk replay is refused in the documented order (docs/behaviour.md#order-of-refusal), and then writes nothing.
func TestBulkReplayRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID) + "/replay"
	valid := object{"from": noon.Add(-time.Hour)}
	for name, c := range map[string]struct {
		body any
		at   string
	}{
		"no body":            {nil, ""},
		"no from":            {object{}, "from"},
		"null":               {object{"from": nil}, "from"},
		"no time":            {altered(valid, object{"from": "yesterday"}), "from"},
		"the future":         {altered(valid, object{"from": noon.Add(time.Hour)}), "from"},
		"an empty span":      {altered(valid, object{"to": noon.Add(-time.Hour)}), "to"},
		"what has not ended": {altered(valid, object{"status": "retrying"}), "status"},
		"an empty status":    {altered(valid, object{"status": ""}), "status"},
		"an unknown type":    {altered(valid, object{"eventType": "order.lost"}), "eventType"},
		"a long reason":      {altered(valid, object{"reason": strings.Repeat("x", 1001)}), "reason"},
		"no boolean":         {altered(valid, object{"dryRun": "yes"}), "dryRun"},
		"an unknown member":  {altered(valid, object{"force": true}), "force"},
	} {
		w.run(name, func(t *testing.T) {
			for _, p := range []string{path, "/replays"} {
				a := w.do("POST", p, w.tokens["OWNER"], c.body)
				a.what += " with " + name
				if c.at == "" {
					a.refused(app.CodeValidationFailed)
				} else {
					a.refused(app.CodeValidationFailed, c.at)
				}
			}
		})
	}
	w.do("POST", "/replays", w.tokens["OWNER"], altered(valid, object{"webhookId": "a b"})).
		refused(app.CodeValidationFailed, "webhookId")
	for _, store := range []string{"sibling", "foreign"} {
		w.do("POST", "/replays", w.tokens["OWNER"], altered(valid, object{"webhookId": w.stores[store].webhook.ID})).
			refused(app.CodeNotFound)
	}
	w.do("POST", "/webhooks/whk_none/replay", w.tokens["OWNER"], object{"from": 1}).
		refused(app.CodeValidationFailed, "from")
	w.do("POST", "/webhooks/whk_none/replay", w.tokens["OWNER"], valid).refused(app.CodeNotFound)
	w.do("POST", path, w.tokens["OWNER"], valid, header("Idempotency-Key", "")).
		refused(app.CodeValidationFailed, "Idempotency-Key")
	for _, id := range []string{"rpl_none", string(w.stores["sibling"].replay.ID), "%00"} {
		w.do(http.MethodGet, path+"s/"+id, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	var n int
	w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM replays").Scan(&n))
	if n != len(w.stores) {
		t.Errorf("got %d bulk replays, want %d", n, len(w.stores))
	}
	for range app.MaxRunningReplays - 1 {
		w.do("POST", path, w.tokens["OWNER"], valid).ok(202, nil)
	}
	w.do("POST", path, w.tokens["OWNER"], valid).refused(app.CodeLimitReached)
	w.do("POST", path, w.tokens["OWNER"], altered(valid, object{"dryRun": true})).ok(202, nil)
}

// A webhook's bulk replay of missed events counts the events without a delivery to it.
func TestBulkReplayOfMissedEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	w.now = noon.Add(time.Minute)
	path := "/webhooks/" + string(w.addWebhook(own.id)) + "/replay"
	hour := app.At(noon.Add(-time.Hour))
	for webhook, want := range map[string]int64{path: 1, "/webhooks/" + string(own.webhook.ID) + "/replay": 0} {
		var counted, created, shown app.BulkReplay
		body := object{"from": hour, "status": "missed"}
		w.do("POST", webhook, w.tokens["OWNER"], altered(body, object{"dryRun": true})).ok(202, &counted)
		w.do("POST", webhook, w.tokens["OWNER"], body).ok(202, &created)
		w.list(own.id, created)
		w.do("GET", "/replays/"+string(created.ID), w.tokens["OWNER"], nil).ok(200, &shown)
		for what, got := range map[string]app.BulkReplay{"dry run": counted, "shown": shown} {
			if *got.Matched != want || got.DeliveryStatus != app.ReplayedMissed {
				t.Errorf("POST %s, %s: got %+v, want %d missed events", webhook, what, got, want)
			}
		}
	}
	w.do("POST", path, w.tokens["OWNER"], object{"from": hour, "status": "missed", "reason": "HTTP 503"}).
		refused(app.CodeValidationFailed, "reason")
	w.do("POST", path, w.tokens["OWNER"], object{"from": hour, "status": "queued"}).
		refused(app.CodeValidationFailed, "status")
	w.do("POST", "/replays", w.tokens["OWNER"], object{"from": hour, "status": "missed"}).
		refused(app.CodeValidationFailed, "status")
}
