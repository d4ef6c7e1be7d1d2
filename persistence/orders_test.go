package persistence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func asIs(o app.Order) any { return o }

func TestPlaceOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	placed, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil, asIs)
	must(t, err)
	if placed.Number != "1" || placed.TotalMinor != 1900 || placed.TaxMinor != 124 || placed.Status != app.OrderReceived || placed.BusinessDate != "2026-03-14" {
		t.Errorf("placed %+v", placed)
	}
	read, err := db.Order(t.Context(), r.Stores[0], placed.ID, "")
	must(t, err)
	if diff := cmp.Diff(placed, read); diff != "" {
		t.Error("what was placed and what is read differ:", diff)
	}
	if _, err := db.Order(t.Context(), r.Stores[1], placed.ID, ""); app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("from the sibling store: %v", err)
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
			if _, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], bad, nil, asIs); app.CodeOf(err) != app.CodeTotalMismatch {
				t.Errorf("wrong total: %v", err)
			}
			order, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], good, nil, asIs)
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
			t.Errorf("number %d is missing", n)
		}
	}
}

func TestStockIsNeverOversold(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	stock := int64(7)
	last, err := db.CreateProduct(t.Context(), noon, r.Stores[0], app.Product{Name: "Tiramisu", PriceMinor: 600, Currency: "EUR", IsAvailable: true, StockQuantity: &stock}, nil, nil)
	must(t, err)
	order := r.Order(t, db, 0)
	order.Items = []app.NewOrderItem{{ProductID: r.Menu[0].ID, Quantity: 1}, {ProductID: last.ID, Quantity: 1}}
	var wait sync.WaitGroup
	codes := make(chan app.Code, 20)
	for range cap(codes) {
		wait.Go(func() {
			_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil, asIs)
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
		t.Error(diff)
	}
}

func TestIdempotencyKeyPlacesOneOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	order := r.Order(t, db, 0)
	once := persistence.Once{Credential: "somebody", Route: "POST /orders", Key: "k1", Body: []byte("{}")}
	first, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &once, asIs)
	must(t, err)

	_, err = db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &once, asIs)
	replayed, ok := errors.AsType[*persistence.Replayed](err)
	if !ok {
		t.Fatalf("the second time: %v", err)
	}
	var again app.Order
	must(t, json.Unmarshal(replayed.Data, &again))
	if again.ID != first.ID {
		t.Errorf("replayed %s instead of %s", again.ID, first.ID)
	}
	other := once
	other.Body = []byte("{ }")
	if _, err = db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &other, asIs); app.CodeOf(err) != app.CodeIdempotencyKeyReused {
		t.Errorf("another body: %v", err)
	}
	var wait sync.WaitGroup
	once.Key = "k2"
	placed := make(chan bool, 10)
	for range cap(placed) {
		wait.Go(func() {
			_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, &once, asIs)
			if _, replayed := errors.AsType[*persistence.Replayed](err); err != nil && !replayed && app.CodeOf(err) != app.CodeIdempotencyKeyInUse {
				t.Error(err)
			}
			placed <- err == nil
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
		t.Errorf("%d orders were placed under one key", count)
	}
}

func TestFirstGuestCheckoutMakesACustomer(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	order := r.Order(t, db, 0)
	first, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil, asIs)
	must(t, err)
	order.Guest.Email = "ADA@example.com"
	second, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil, asIs)
	must(t, err)
	if first.Customer.ID != second.Customer.ID {
		t.Error("the same address became two guests")
	}
	order = app.NewOrder{Items: order.Items, FulfillmentType: order.FulfillmentType, Source: order.Source, StoreViewID: order.StoreViewID, CustomerID: first.Customer.ID}
	third, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil, asIs)
	must(t, err)
	if third.Customer.Name != "Ada" {
		t.Errorf("known customer: %+v", third.Customer)
	}
	order.CustomerID = "cus_unknown"
	if _, err = db.PlaceOrder(t.Context(), noon, r.Stores[0], order, nil, asIs); app.CodeOf(err) != app.CodeValidationFailed {
		t.Errorf("unknown customer: %v", err)
	}
	if n := count(t, db, "SELECT count(*) FROM outbox WHERE type = 'customer.created'"); n != 1 {
		t.Errorf("%d customer.created events", n)
	}
}
