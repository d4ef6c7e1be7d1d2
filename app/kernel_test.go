package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 1000 {
		id := string(app.NewID[app.OrderID](now.Add(time.Duration(i) * time.Microsecond)))
		if !strings.HasPrefix(id, "ord_") || len(id) != 36 || !app.IsID(id) || id[16] != '7' {
			t.Fatalf("id %q", id)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids made a microsecond apart are not in order")
	}
	for i, at := range []time.Time{now, now.Add(time.Millisecond)} {
		if first := string(app.FirstID[app.OrderID](at)); (ids[0] > first) != (i == 0) || (ids[999] > first) != (i == 0) {
			t.Errorf("%s is not the first of %s", first, at)
		}
	}
	for _, at := range []time.Time{{}, now.AddDate(9999, 0, 0)} {
		if first := app.FirstID[app.OrderID](at); len(first) != 16 || !app.IsID(string(first)) {
			t.Errorf("the first of %s is %q", at, first)
		}
	}
	for _, bad := range []string{"", "ord_\x00", "a b", "ord_é", "../x", strings.Repeat("a", 65), "a'b"} {
		if app.IsID(bad) {
			t.Errorf("%q passes for an id", bad)
		}
	}
}

func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	secret := app.NewSecret("hunter2")
	holder := struct {
		Name  string
		Value app.Secret
		Ref   *app.Secret
	}{"x", secret, &secret}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("hello", "secret", secret, "holder", holder)
	for _, shown := range []string{
		fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s %q %x %d", secret, holder, secret, secret, secret, secret, secret),
		fmt.Sprintf("%#v", holder), string(encoded), log.String(), fmt.Sprint(fmt.Errorf("bad: %v", secret)),
	} {
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("a secret shows in %s", shown)
		}
	}
	var read app.Secret
	if err := json.Unmarshal([]byte(`"hunter2"`), &read); err != nil || read.Reveal() != "hunter2" || read.Len() != 7 {
		t.Errorf("read %q, %v", read.Reveal(), err)
	}
}

func TestKeyring(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	ring := func(list string) app.Keyring {
		ring, err := app.NewKeyring(app.NewSecret(list))
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	sealed := ring(first).Sealer().Seal(app.NewSecret("webhook secret"), "whk_1")
	if strings.Contains(string(sealed), "webhook") {
		t.Error("sealing hides nothing")
	}
	for name, test := range map[string]struct {
		ring  app.Keyring
		owner string
		ok    bool
	}{
		"the same ring":       {ring(first), "whk_1", true},
		"after a rotation":    {ring(second + "," + first), "whk_1", true},
		"after a removal":     {ring(second), "whk_1", false},
		"moved to another id": {ring(first), "whk_2", false},
	} {
		got, err := test.ring.Sealer().Open(sealed, test.owner)
		if (err == nil) != test.ok || test.ok && got.Reveal() != "webhook secret" {
			t.Errorf("%s: %q, %v", name, got.Reveal(), err)
		}
	}
	sealed[len(sealed)-1]++
	if _, err := ring(first).Sealer().Open(sealed, "whk_1"); err == nil {
		t.Error("an altered seal opens")
	}
	for _, short := range []string{"", strings.Repeat("a", 31), first + ",", first + "," + "short"} {
		if _, err := app.NewKeyring(app.NewSecret(short)); err == nil {
			t.Errorf("keys %q pass", short)
		}
	}
	keys := ring(first + "," + second).Derive("one")
	if len(keys) != 2 || keys[0].ID == keys[1].ID || cmp.Equal(keys[0].Bytes, ring(first).Derive("two")[0].Bytes) {
		t.Error("derived keys are not apart")
	}
}

func TestRetrySchedule(t *testing.T) {
	t.Parallel()
	schedule, err := app.ParseRetrySchedule("30s,5m, 30m,2h,6h")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(app.DefaultRetrySchedule(), schedule); diff != "" || schedule.Attempts() != 6 {
		t.Error(diff)
	}
	for attempt, want := range map[int]time.Duration{0: 0, 1: 30 * time.Second, 5: 6 * time.Hour, 6: 0, 7: 0} {
		if got, more := schedule.Delay(attempt); got != want || more != (want > 0) {
			t.Errorf("after attempt %d: %s, %v", attempt, got, more)
		}
	}
	for _, bad := range []string{"", "30", "0s", "-1s", "30s,,5m", "soon", strings.Repeat("1s,", 20) + "1s"} {
		if _, err := app.ParseRetrySchedule(bad); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func TestCheckWebhookURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com":                        "",
		"https://example.com:8443/a/b?c=d":           "",
		"https://[2001:db8::1]/hook":                 "",
		"HTTPS://EXAMPLE.COM/":                       "",
		"http://example.com":                         "must be an https URL",
		"ftp://example.com":                          "must be an https URL",
		"":                                           "must be an https URL",
		"example.com":                                "must be an https URL",
		"https://":                                   "must have a host",
		"https:example.com":                          "must have a host",
		"https://:443/":                              "must have a host",
		"https://user@example.com":                   "must not contain a user name or password",
		"https://user:password@example.com":          "must not contain a user name or password",
		"https://example.com/#fragment":              "must not have a fragment",
		"https://example.com/#":                      "must not have a fragment",
		"https://example.com/a b":                    "must be a URL",
		"https://example.com/\r\nX-Evil: 1":          "must be a URL",
		"https://exa%mple.com":                       "must be a URL",
		"https://example.com:port/":                  "must be a URL",
		"https://example.com:0/":                     "must have a port from 1 to 65535, or none",
		"https://example.com:65536/":                 "must have a port from 1 to 65535, or none",
		"https://example.com:65535/":                 "",
		"https://example.com:/":                      "",
		"https://e.com/" + strings.Repeat("a", 2048): "must be at most 2048 characters long",
	} {
		got := ""
		if err := app.CheckWebhookURL(url); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", url, got, want)
		}
	}
}

func TestOrderTransitions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status      app.OrderStatus
		fulfillment app.FulfillmentType
		mayCancel   bool
		want        []app.OrderStatus
	}{
		"new, for pickup":   {app.OrderReceived, app.FulfillmentPickup, false, []app.OrderStatus{"CONFIRMED", "PREPARING", "READY", "COMPLETED"}},
		"new, for delivery": {app.OrderReceived, app.FulfillmentDelivery, true, []app.OrderStatus{"CONFIRMED", "PREPARING", "READY", "OUT_FOR_DELIVERY", "COMPLETED", "CANCELLED"}},
		"on its way":        {app.OrderOutForDelivery, app.FulfillmentDelivery, true, []app.OrderStatus{"COMPLETED", "CANCELLED"}},
		"completed":         {app.OrderCompleted, app.FulfillmentPickup, true, []app.OrderStatus{}},
		"cancelled":         {app.OrderCancelled, app.FulfillmentPickup, true, []app.OrderStatus{}},
	} {
		if diff := cmp.Diff(test.want, test.status.Transitions(test.fulfillment, test.mayCancel)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEventBody(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 123_999_999, time.FixedZone("", 3600))
	event, err := app.NewEvent(app.EventOrderCreated, "sto_1", now, map[string]string{"name": "<Zoë & Söhne> 🍕"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"` + string(event.ID) + `","type":"order.created","storeId":"sto_1","timestamp":"2026-03-14T11:00:00.123Z","data":{"name":"<Zoë & Söhne> 🍕"}}`
	if string(event.Body) != want {
		t.Errorf("body %s, want %s", event.Body, want)
	}
	if len(app.EventTypes) != 14 || slices.Contains(app.EventTypes[:], "test.ping") || !slices.Contains(app.EventTypes[:], app.EventProductUpdated) {
		t.Error("event types")
	}
}
