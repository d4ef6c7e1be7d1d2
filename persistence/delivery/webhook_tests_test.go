package delivery_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestWebhookTestsAreNotCounted(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 2)
	claims := claim(t, db)
	attempt(t, db, claims[0].ID, 1, app.AttemptRetrying, 0)
	test, err := db.CreateTest(t.Context(), noon, r.Stores[0], s.ID)
	must(t, err)
	outgoing, err := db.OutgoingTest(t.Context(), test)
	must(t, err)
	var envelope app.Envelope
	must(t, json.Unmarshal(outgoing.Body, &envelope))
	if envelope.ID != test.EventID || envelope.Type != app.EventTestPing || envelope.StoreID != r.Stores[0] ||
		outgoing.URL != s.URL || outgoing.Recorded != nil {
		t.Errorf("outgoing: got %+v with %+v, want test %s", outgoing, envelope, test.EventID)
	}
	made := app.MadeAttempt{
		Outgoing: outgoing, Status: app.AttemptDelivered, StatusCode: 200, At: noon.Add(3 * time.Hour),
		Duration: 2 * time.Second,
		Sent:     map[string][]string{"X": {"y"}, "Authorization": {}}, // the value of the second one is secret
		Headers:  map[string][]string{"A": {"b\x00c", `\u0000`}}, Body: []byte{0xff, 0},
	}
	must(t, db.RecordTest(t.Context(), made))
	made.StatusCode = 500
	must(t, db.RecordTest(t.Context(), made)) // a repeated record changes nothing
	if outgoing, err = db.OutgoingTest(t.Context(), test); err != nil || outgoing.Recorded == nil ||
		outgoing.Recorded.StatusCode != 200 {
		t.Errorf("recorded: got %+v and error %v, want status 200", outgoing.Recorded, err)
	}
	shown, err := db.Subscription(t.Context(), r.Stores[0], s.ID)
	must(t, err)
	if shown.FailureCount != 1 || !shown.LastDeliveryAt.Equal(noon.Add(3*time.Hour)) {
		t.Errorf("subscription: got %d failures and last attempt at %s, want 1 at %s",
			shown.FailureCount, shown.LastDeliveryAt, noon.Add(3*time.Hour))
	}
	if n := count(t, db, "SELECT count(*) FROM subscription_health WHERE slow_until > '-infinity'"); n != 0 {
		t.Errorf("slow subscriptions after a slow test: got %d, want 0", n)
	}
	if dispatched, err := db.Dispatch(t.Context(), noon, 1000); err != nil || dispatched.Events != 0 {
		t.Errorf("Dispatch: got %+v and error %v, want no events", dispatched, err)
	}
	attempts, total, err := db.Attempts(t.Context(), r.Stores[0], s.ID, app.AttemptFilter{EventType: app.EventTestPing},
		1, 10)
	must(t, err)
	if total != 1 || attempts[0].DeliveryID != "" || attempts[0].AttemptNumber != 1 ||
		attempts[0].Status != app.AttemptDelivered {
		t.Errorf("attempts: got %d, %+v, want one test", total, attempts)
	}
	detail, err := db.AttemptDetail(t.Context(), r.Stores[0], s.ID, attempts[0].ID)
	must(t, err)
	body, sent := "/wA=", string(outgoing.Body)
	want := app.AttemptDetail{
		Attempt: attempts[0],
		Request: app.SentRequest{
			Method: "POST", URL: s.URL, Headers: map[string][]string{"X": {"y"}, "Authorization": {}}, Body: &sent,
		},
		Response: &app.ReceivedResponse{
			StatusCode: 200, Headers: map[string][]string{"A": {"bc", `\u0000`}}, Body: &body, Encoding: app.BodyBase64,
		},
	}
	if diff := cmp.Diff(want, detail); diff != "" {
		t.Errorf("recorded test (-want +got):\n%s", diff)
	}
	stats, err := db.Stats(t.Context(), r.Stores[0], s.ID, app.At(noon), app.At(noon.Add(24*time.Hour)), app.ByDay)
	must(t, err)
	if stats.Totals.Delivered != 0 || stats.Totals.Failed != 1 {
		t.Errorf("statistics: got %+v, want 0 delivered, 1 failed", stats.Totals)
	}
	must(t, db.DeleteSubscription(t.Context(), noon, r.Stores[0], owner, s.ID, 0))
	if _, err := db.OutgoingTest(t.Context(), test); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("test after the subscription was deleted: got error %v, want %s", err, app.CodeNotFound)
	}
	if _, err := db.CreateTest(t.Context(), noon, r.Stores[0], s.ID); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("new test of a deleted subscription: got error %v, want %s", err, app.CodeNotFound)
	}
}
