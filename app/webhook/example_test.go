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

// delivery returns a request as sent by the service.
func delivery() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(
		`{"id":"evt_019f0000000070008000000000000001","type":"order.created","storeId":"sto_1",`+
			`"timestamp":"2026-03-14T12:00:00.000Z","data":{"totalMinor":1900}}`))
	r.Header.Set("X-Webhook-Timestamp", "1773489600")
	r.Header.Set("X-Webhook-Signature", "b57878b03445e982ec8e93a4a483e09b19cb8b945209ec3e51f7018bee7ed843")
	return r
}

func Example() {
	verifier, err := webhook.New("whsec_0123456789abcdef0123456789abcdef") // from your configuration
	if err != nil {
		panic(err)
	}
	verifier.Now = func() time.Time { return time.Unix(1773489660, 0) } // only in this example: the time of the request

	http.Handle("/hook", verifier.Handler(func(_ context.Context, event webhook.Event) error {
		switch event.Type { // other types are accepted and ignored
		case webhook.OrderCreated:
			fmt.Println("a new order:", event.ID, string(event.Data))
		}
		return nil
	}))

	response := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(response, delivery())
	fmt.Println(response.Code)
	// Output:
	// a new order: evt_019f0000000070008000000000000001 {"totalMinor":1900}
	// 204
}

func ExampleVerifier_Verify() {
	// During the rotation of a secret, the verifier accepts signatures with either secret.
	verifier, err := webhook.New("the new secret, 32 characters or more", "whsec_0123456789abcdef0123456789abcdef")
	if err != nil {
		panic(err)
	}
	event, err := verifier.Verify(delivery()) // its timestamp is too old
	fmt.Println(event.Type == "", errors.Is(err, webhook.ErrStale), webhook.Status(err))
	// Output: true true 401
}
