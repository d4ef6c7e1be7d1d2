package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app/webhook"
)

// delivery is a request as the service sends it.
func delivery() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(
		`{"id":"evt_019f0000000070008000000000000001","type":"order.created","storeId":"sto_1","timestamp":"2026-03-14T12:00:00.000Z","data":{"totalMinor":1900}}`))
	r.Header.Set("X-Webhook-Timestamp", "1773489600")
	r.Header.Set("X-Webhook-Signature", "b57878b03445e982ec8e93a4a483e09b19cb8b945209ec3e51f7018bee7ed843")
	return r
}

func Example() {
	verifier, err := webhook.New("whsec_0123456789abcdef0123456789abcdef") // from your settings
	if err != nil {
		panic(err)
	}
	verifier.Now = func() time.Time { return time.Unix(1773489660, 0) } // only so that this example stays true

	http.Handle("/hook", verifier.Handler(func(_ context.Context, event webhook.Event) error {
		switch event.Type { // types without a case are accepted, too
		case webhook.OrderCreated:
			fmt.Println("a new order:", event.ID, string(event.Data))
		}
		return nil
	}))

	answer := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(answer, delivery())
	fmt.Println(answer.Code)
	// Output:
	// a new order: evt_019f0000000070008000000000000001 {"totalMinor":1900}
	// 204
}

func ExampleVerifier_Verify() {
	// While a secret is being changed, what either of the two signed is genuine.
	verifier, err := webhook.New("the new secret, 32 characters or more", "whsec_0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	event, err := verifier.Verify(delivery()) // it was sent long ago
	fmt.Println(event.Type == "", errors.Is(err, webhook.ErrStale), webhook.Status(err))
	// Output: true true 401
}
