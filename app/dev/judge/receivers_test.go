package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// TestBehaviors sends a signed request to a receiver of each behavior.
func TestBehaviors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		behavior *behavior
		statuses []int // possible ones; 0 = no response
	}{
		{responds, []int{204}},
		{sometimes, []int{200, 503}},
		{fails, []int{500}},
		{hangs, []int{0}},
		{resets, []int{0}},
		{closes, []int{0}},
		{late, []int{200}},
		{changes, []int{204, 500, 0}},
	} {
		t.Run(test.behavior.name, func(t *testing.T) {
			t.Parallel()
			r, client := newTestReceivers(t)
			one := r.add("quiet", "w1", test.behavior, "the secret")
			one.named("whk_1")
			status := post(t, client, r.url(one), "the secret")
			got := recordedRequests(t, r.h, 1)[0]
			if !slices.Contains(test.statuses, status) {
				t.Errorf("status: got %d, want one of %v", status, test.statuses)
			}
			if got.Site != "quiet" || got.Webhook != "whk_1" || got.Event != "evt_1" || string(got.Body) != "{}" ||
				got.Status != status || got.Flaw != "" || got.Answered.Before(got.At) {
				t.Errorf("recorded: got %+v", got)
			}
		})
	}
}

// TestTooLate checks that a receiver that responds late sometimes sends a success after the timeout.
func TestTooLate(t *testing.T) {
	t.Parallel()
	r, client := newTestReceivers(t)
	n := 0
	for draw(fmt.Sprintf("/quiet/w%d", n), "evt_1", 1) < inTime {
		n++
	}
	status := post(t, client, r.url(r.add("quiet", fmt.Sprintf("w%d", n), late, "the secret")), "the secret")
	got := recordedRequests(t, r.h, 1)[0]
	if received := r.h.received(got); status != 0 || got.Status != http.StatusOK || received != 0 {
		t.Errorf("got status %d, recorded %d, of which %d counts, want 0, 200 and 0", status, got.Status, received)
	}
}

// TestReceiversVerify checks that a receiver accepts all secrets of its webhook, and no other.
func TestReceiversVerify(t *testing.T) {
	t.Parallel()
	r, client := newTestReceivers(t)
	one := r.add("quiet", "w1", responds, "the first secret")
	one.rotate("the second secret")
	for _, secret := range []string{"the first secret", "the second secret", "another secret"} {
		post(t, client, r.url(one), secret)
	}
	got := recordedRequests(t, r.h, 3)
	if got[0].Flaw != "" || got[1].Flaw != "" || got[2].Flaw == "" {
		t.Errorf("flaws: got %q, %q and %q, want only the last one", got[0].Flaw, got[1].Flaw, got[2].Flaw)
	}
}

// TestReceiversHeal checks that a receiver that fails responds after the healing.
func TestReceiversHeal(t *testing.T) {
	t.Parallel()
	r, client := newTestReceivers(t)
	one := r.add("quiet", "w1", fails, "the secret")
	before := post(t, client, r.url(one), "the secret")
	(&sites{receivers: r}).heal()
	if after := post(t, client, r.url(one), "the secret"); before != 500 || after != 204 {
		t.Errorf("statuses: got %d and %d, want 500 and 204", before, after)
	}
}

func newTestReceivers(t *testing.T) (*receivers, *http.Client) {
	t.Helper()
	authority := httptest.NewTLSServer(nil)
	t.Cleanup(authority.Close)
	r := newReceivers(authority.TLS.Certificates[0], &history{})
	t.Cleanup(r.close)
	client := authority.Client()
	client.Timeout = 3 * time.Second
	return r, client
}

// post sends a signed request and returns the status of the response, or 0.
func post(t *testing.T, client *http.Client, url, secret string) int {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprint(mac, "1700000000.{}")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte("{}")))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Webhook-Id", "evt_1")
	request.Header.Set("X-Webhook-Timestamp", "1700000000")
	request.Header.Set("X-Webhook-Signature", hex.EncodeToString(mac.Sum(nil)))
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// recordedRequests waits until receivers are done with a number of requests and returns them.
func recordedRequests(t *testing.T, h *history, n int) []request {
	t.Helper()
	for {
		h.lock.Lock()
		list := append([]request{}, h.Requests...)
		h.lock.Unlock()
		if len(list) == n && !list[n-1].Answered.IsZero() {
			return list
		}
		if wait(t.Context(), 10*time.Millisecond) != nil {
			t.Fatalf("requests: got %+v, want %d", list, n)
		}
	}
}
