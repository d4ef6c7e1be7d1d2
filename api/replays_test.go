package api

import (
	"fmt"
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
		SubscriptionID: own.webhook.ID, DeliveryStatus: app.DeliveryDeadLetter, From: hour, To: app.At(w.now),
		Status: app.ReplayDryRun, Matched: 1, CreatedAt: app.At(w.now),
	}
	var got app.BulkReplay
	w.do("POST", path+"/replay", owner, object{"from": hour, "dryRun": true}).ok(202, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w.do("POST", path+"/replay", owner, object{"from": hour, "status": "delivered", "eventType": "order.created", "to": app.At(noon.Add(time.Hour)), "dryRun": true}).ok(202, &got)
	if got.Matched != 0 || got.EventType != app.EventOrderCreated || got.To != app.At(noon.Add(time.Hour)) {
		t.Errorf("delivered: %+v", got)
	}
	key := header("Idempotency-Key", "once")
	got = app.BulkReplay{}
	first := w.do("POST", path+"/replay", owner, object{"from": hour}, key).ok(202, &got)
	want.ID, want.Status = got.ID, app.ReplayRunning
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := w.do("POST", path+"/replay", owner, object{"from": hour}, key).ok(202, nil); again.Body.String() != first.Body.String() {
		t.Errorf("the second time: %s", again.Body)
	}
	w.do("POST", path+"/replay", owner, object{"from": hour, "dryRun": true}, key).refused(app.CodeIdempotencyKeyReused)

	_, err := w.db.ContinueBulkReplay(t.Context(), w.now, own.id, got.ID, 200)
	w.must(err)
	at := app.At(w.now)
	want.Status, want.Replayed, want.InProgress, want.EndedAt = app.ReplayCompleted, 1, 1, &at
	for _, show := range []string{path + "/replays/" + string(got.ID), "/replays/" + string(got.ID)} {
		got = app.BulkReplay{}
		w.do("GET", show, owner, nil).ok(200, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	w.do("POST", "/replays/"+string(got.ID)+"/cancel", owner, nil).refused(app.CodeConflict)
	w.do("POST", "/replays/"+string(own.replay.ID)+"/cancel", owner, nil).ok(200, &got)
	if got.Status != app.ReplayCancelled || got.Reason != app.ReasonReplayCancelled {
		t.Errorf("cancelled: %+v", got)
	}
	var d app.Delivery
	w.do("GET", "/deliveries/"+string(own.delivery.ID), owner, nil).ok(200, &d)
	if d.Status != app.DeliveryQueued {
		t.Errorf("replayed: %+v", d)
	}
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
		t.Fatalf("%+v", groups)
	}
	for _, path := range []string{"/replays", "/webhooks/" + string(own.webhook.ID) + "/replay"} {
		for reason, want := range map[string]int64{groups[0].Reason: 1, "another": 0, "": 1} {
			body := object{"from": noon.Add(-time.Hour), "reason": reason}
			var counted, ordered, shown app.BulkReplay
			w.do("POST", path, owner, altered(body, object{"dryRun": true})).ok(202, &counted)
			w.do("POST", path, owner, body).ok(202, &ordered)
			w.do("GET", "/replays/"+string(ordered.ID), owner, nil).ok(200, &shown)
			for what, got := range map[string]app.BulkReplay{"dry run": counted, "ordered": ordered, "shown": shown} {
				if got.Matched != want || got.DeliveryReason != reason {
					t.Errorf("POST %s of %q, %s: %+v", path, reason, what, got)
				}
			}
		}
	}
}

// The lists of a webhook and of the store, page by page; a cursor of one is none of another.
func TestBulkReplayLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	path := "/webhooks/" + string(own.webhook.ID)
	for i := range 4 {
		w.now = noon.Add(time.Duration(i+1) * time.Second)
		w.do("POST", map[bool]string{true: path + "/replay", false: "/replays"}[i < 2], w.tokens["OWNER"], object{"from": noon.Add(-time.Hour)}).ok(202, nil)
	}
	for list, want := range map[string]int{"/replays": 5, path + "/replays": 3} {
		var all []app.BulkReplay
		for cursor, next := "", true; next; {
			var page []app.BulkReplay
			a := w.do("GET", fmt.Sprintf("%s?limit=2%s", list, cursor), w.tokens["OWNER"], nil).ok(200, &page)
			all = append(all, page...)
			var sealed string
			if sealed, next = a.body.Meta["nextCursor"].(string); next {
				cursor = "&cursor=" + sealed
			}
		}
		for i := range len(all) - 1 {
			if all[i].ID <= all[i+1].ID {
				t.Errorf("%s is not sorted", list)
			}
		}
		if len(all) != want || all[0].SubscriptionID != "" && list == "/replays" {
			t.Errorf("%s: %+v", list, all)
		}
	}
	var other app.Subscription
	w.do("POST", "/webhooks", w.tokens["OWNER"], webhookBody()).ok(201, &other)
	for _, list := range []string{"/replays", "/webhooks/" + string(own.webhook.ID) + "/replays"} {
		a := w.do("GET", list+"?limit=2", w.tokens["OWNER"], nil).ok(200, nil)
		w.do("GET", "/webhooks/"+string(other.ID)+"/replays?limit=2&cursor="+a.body.Meta["nextCursor"].(string), w.tokens["OWNER"], nil).
			refused(app.CodeValidationFailed, "cursor")
	}
}

// What a bulk replay is refused for, in contract §1's order; nothing is written.
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
		for _, p := range []string{path, "/replays"} {
			a := w.do("POST", p, w.tokens["OWNER"], c.body)
			a.what += " with " + name
			if c.at == "" {
				a.refused(app.CodeValidationFailed)
			} else {
				a.refused(app.CodeValidationFailed, c.at)
			}
		}
	}
	w.do("POST", "/replays", w.tokens["OWNER"], altered(valid, object{"webhookId": "a b"})).refused(app.CodeValidationFailed, "webhookId")
	for _, store := range []string{"sibling", "foreign"} {
		w.do("POST", "/replays", w.tokens["OWNER"], altered(valid, object{"webhookId": w.stores[store].webhook.ID})).refused(app.CodeNotFound)
	}
	w.do("POST", "/webhooks/whk_none/replay", w.tokens["OWNER"], object{"from": 1}).refused(app.CodeValidationFailed, "from")
	w.do("POST", "/webhooks/whk_none/replay", w.tokens["OWNER"], valid).refused(app.CodeNotFound)
	w.do("POST", path, w.tokens["OWNER"], valid, header("Idempotency-Key", "")).refused(app.CodeValidationFailed, "Idempotency-Key")
	for _, id := range []string{"rpl_none", string(w.stores["sibling"].replay.ID), "%00"} {
		w.do(http.MethodGet, path+"s/"+id, w.tokens["OWNER"], nil).refused(app.CodeNotFound)
	}
	var n int
	w.must(w.db.System().DB.QueryRowContext(t.Context(), "SELECT count(*) FROM replays").Scan(&n))
	if n != len(w.stores) {
		t.Errorf("%d bulk replays", n)
	}
	for range app.MaxRunningReplays - 1 {
		w.do("POST", path, w.tokens["OWNER"], valid).ok(202, nil)
	}
	w.do("POST", path, w.tokens["OWNER"], valid).refused(app.CodeLimitReached)
	w.do("POST", path, w.tokens["OWNER"], altered(valid, object{"dryRun": true})).ok(202, nil)
}
