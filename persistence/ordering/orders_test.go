package ordering_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

func TestPlaceOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	placed, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil)
	must(t, err)
	if placed.Number != "1" || placed.TotalMinor != 1900 || placed.TaxMinor != 124 ||
		placed.Status != app.OrderReceived || placed.BusinessDate != "2026-03-14" {
		t.Errorf("got order %+v, want number 1, total 1900, tax 124, RECEIVED on 2026-03-14", placed)
	}
	read, err := db.Order(t.Context(), r.Stores[0], placed.ID, "")
	must(t, err)
	if diff := cmp.Diff(placed, read); diff != "" {
		t.Error("order as read (-placed +read):", diff)
	}
	if _, err := db.Order(t.Context(), r.Stores[1], placed.ID, ""); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("order of another store: got error %v, want %s", err, app.CodeNotFound)
	}
}

func TestOrderNumbersHaveNoGaps(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	good := r.Order(t, db, 0)
	bad := good
	wrong := int64(1)
	bad.ExpectedTotalMinor = &wrong
	const each = 20
	var wait sync.WaitGroup
	numbers := make(chan string, each)
	for range each {
		wait.Go(func() {
			_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], bad, nil)
			if app.CodeOf(err) != app.CodeTotalMismatch {
				t.Errorf("wrong total: got error %v, want %s", err, app.CodeTotalMismatch)
			}
			order, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], good, nil)
			if err != nil {
				t.Error(err)
			}
			numbers <- order.Number
		})
	}
	wait.Wait()
	close(numbers)
	seen := map[string]bool{}
	for n := range numbers {
		seen[n] = true
	}
	for n := 1; n <= each; n++ {
		if !seen[fmt.Sprint(n)] {
			t.Errorf("order number %d: got no order, want one", n)
		}
	}
}

func TestStockIsNeverOversold(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	stock := int64(7)
	last, err := db.CreateProduct(t.Context(), noon, r.Stores[0],
		app.Product{Name: "Tiramisu", PriceMinor: 600, Currency: "EUR", IsAvailable: true, StockQuantity: &stock}, nil)
	must(t, err)
	order := r.Order(t, db, 0)
	order.Items = []app.NewOrderItem{{ProductID: r.Menu[0].ID, Quantity: 1}, {ProductID: last.ID, Quantity: 1}}
	var wait sync.WaitGroup
	codes := make(chan app.Code, 20)
	for range cap(codes) {
		wait.Go(func() {
			_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil)
			codes <- app.CodeOf(err)
		})
	}
	wait.Wait()
	close(codes)
	count := map[app.Code]int{}
	for code := range codes {
		count[code]++
	}
	if diff := cmp.Diff(map[app.Code]int{"": 7, app.CodeProductUnavailable: 13}, count); diff != "" {
		t.Errorf("codes of the orders (-want +got):\n%s", diff)
	}
}

func TestIdempotencyKeyPlacesOneOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	order := r.Order(t, db, 0)
	once := pg.Once{Credential: "somebody", Route: "POST /orders", Key: "k1", Body: []byte("{}")}
	first, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &once)
	must(t, err)

	if once.Repeated {
		t.Error("first request: got Repeated, want not repeated")
	}
	again, err := db.PlaceOrder(t.Context(), noon.Add(time.Minute), r.Stores[0], order, &once)
	must(t, err)
	if diff := cmp.Diff(first, again); diff != "" || !once.Repeated {
		t.Errorf("repeated request: got Repeated %t, want true; order (-want +got):\n%s", once.Repeated, diff)
	}
	other := once
	other.Body = []byte("{ }")
	_, err = db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &other)
	if app.CodeOf(err) != app.CodeIdempotencyKeyReused {
		t.Errorf("another body: got error %v, want %s", err, app.CodeIdempotencyKeyReused)
	}
	var wait sync.WaitGroup
	once.Key = "k2"
	placed := make(chan bool, 10)
	for range cap(placed) {
		wait.Go(func() {
			mine := once
			_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &mine)
			if err != nil && app.CodeOf(err) != app.CodeIdempotencyKeyInUse {
				t.Error(err)
			}
			placed <- err == nil && !mine.Repeated
		})
	}
	wait.Wait()
	close(placed)
	count := 0
	for ok := range placed {
		if ok {
			count++
		}
	}
	if count != 1 {
		t.Errorf("orders of one Idempotency-Key: got %d, want 1", count)
	}
}

func TestGuestIsRecognisedByEmail(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	order := r.Order(t, db, 0)
	first, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil)
	must(t, err)
	order.Guest.Email = "ADA@example.com"
	second, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil)
	must(t, err)
	if *first.Customer.ID != *second.Customer.ID {
		t.Errorf("guest with the same email: got customer %s, want %s", *second.Customer.ID, *first.Customer.ID)
	}
	order = app.NewOrder{
		Items: order.Items, FulfillmentType: order.FulfillmentType, Source: order.Source,
		StoreViewID: order.StoreViewID, CustomerID: *first.Customer.ID,
	}
	third, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil)
	must(t, err)
	if third.Customer.Name != "Ada" {
		t.Errorf("name of a known customer: got %+v, want Ada", third.Customer)
	}
	order.CustomerID = "cus_unknown"
	if _, err = db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil); app.CodeOf(err) != app.CodeValidationFailed {
		t.Errorf("unknown customer: got error %v, want %s", err, app.CodeValidationFailed)
	}
	if n := count(t, db, "SELECT count(*) FROM outbox WHERE type = 'customer.created'"); n != 1 {
		t.Errorf("customer.created events: got %d, want 1", n)
	}
}
