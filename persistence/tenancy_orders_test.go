package persistence_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/ordering"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Changes, slips, ticks, payments and sales of orders, and products and reservations, are only found in their store.
func TestOrdersAreIsolated(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r, foreign := open(t, db, "one.example"), open(t, db, "two.example")
	mine := r.Stores[0]
	at := time.Now() // slots depend on the clock
	until := app.At(noon.Add(time.Hour))
	dish, err := db.CreateProduct(t.Context(), noon, mine, app.Product{
		Name: "Soup", SKU: "soup", ExternalID: "soup-1", Currency: "EUR", PriceMinor: 500, IsAvailable: true,
		StockQuantity: new(int64(9)),
		OptionGroups: []app.OptionGroup{{Name: "Extras", MaxSelections: 1, Options: []app.Option{
			{Name: "Bread", PriceMinor: 50, IsAvailable: true, MaxQuantity: 1},
		}}},
	}, nil)
	must(t, err)
	soldOut, err := db.CreateProduct(t.Context(), noon, mine, app.Product{
		Name: "Stew", Currency: "EUR", PriceMinor: 500, IsAvailable: true, SoldOutUntil: &until,
	}, nil)
	must(t, err)
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	const phone = "+4915112345678"
	in := r.Order(t, db, 0)
	in.Guest = app.OrderCustomer{Name: "Ada", Email: "ada@example.com", Phone: phone}
	in.Items = []app.NewOrderItem{{ProductID: dish.ID, Quantity: 1,
		Options: []app.NewOrderOption{{OptionID: dish.OptionGroups[0].Options[0].ID, Quantity: 1}}}}
	order, err := db.PlaceOrder(t.Context(), noon, mine, in, nil)
	must(t, err)
	claim(t, db)
	_, err = db.RecordPayment(t.Context(), noon, mine, order.ID, aPayment("pi_1", 100), nil)
	must(t, err)
	ended, err := db.Reserve(t.Context(), noon, mine, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 1, StartAt: app.At(noon.Add(time.Hour)),
	}, nil)
	must(t, err)
	_, err = db.ChangeReservationStatus(t.Context(), noon, mine, ended.ID, 0,
		app.ReservationStatusChange{To: app.ReservationCancelled, Reason: "ill"})
	must(t, err)
	soon := at.Truncate(24 * time.Hour).Add(60 * time.Hour) // at noon, on the same day in the store's time zone
	_, err = db.Reserve(t.Context(), at, mine, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 3, StartAt: app.At(soon),
	}, nil)
	must(t, err)
	day := soon.UTC().Format(time.DateOnly)
	days := app.Period{From: noon.AddDate(0, 0, -9), To: noon.AddDate(0, 0, 9)}
	row := func(apply func(p *app.Product, exists bool) []app.Detail) []ordering.ProductRow {
		return []ordering.ProductRow{{SKU: "soup", Apply: apply}}
	}
	found := func(err error) (int, error) { return 1, err }

	methods := map[string]func(s app.StoreID) (int, error){
		"AmendOrder": func(s app.StoreID) (int, error) {
			note := "x"
			_, err := db.AmendOrder(t.Context(), noon, s, order.ID, app.OrderAmendment{Note: &note}, nil)
			return found(err)
		},
		"OrderItemChanges": func(s app.StoreID) (int, error) {
			_, err := db.OrderItemChanges(t.Context(), s, order.ID, 1)
			return found(err)
		},
		"PrintedOrder": func(s app.StoreID) (int, error) {
			_, err := db.PrintedOrder(t.Context(), noon, s, order.ID, 1)
			return found(err)
		},
		"TickItem": func(s app.StoreID) (int, error) {
			_, err := db.TickItem(t.Context(), noon, s, order.ID, order.Items[0].ID, true)
			return found(err)
		},
		"TickAcceptance": func(s app.StoreID) (int, error) {
			tick, err := db.TickAcceptance(t.Context(), noon, s, order.ID)
			return count1([]app.AcceptanceTick{tick},
				func(tick app.AcceptanceTick) bool { return tick.State != app.AcceptanceUnknown }), err
		},
		"ChangedOrders": func(s app.StoreID) (int, error) {
			all, err := db.ChangedOrders(t.Context(), []app.StoreID{s}, noon.Add(-time.Hour))
			return count1(all, func(n app.OrderNotice) bool { return n.ID == order.ID }), err
		},
		"OrderDeliveries": func(s app.StoreID) (int, error) {
			all, err := db.OrderDeliveries(t.Context(), s, order.ID, "", 10)
			return len(all), err
		},
		"StorePayments": func(s app.StoreID) (int, error) {
			all, _, err := db.StorePayments(t.Context(), s, app.PaymentFilter{}, persistence.Cursor{}, firstPage)
			return len(all), err
		},
		"PaymentSums": func(s app.StoreID) (int, error) {
			all, _, err := db.PaymentSums(t.Context(), s, days)
			return len(all), err
		},
		"ChannelSales": func(s app.StoreID) (int, error) {
			all, _, err := db.ChannelSales(t.Context(), s, days)
			return len(all), err
		},
		"OptionSales": func(s app.StoreID) (int, error) {
			all, err := db.OptionSales(t.Context(), s, days, ordering.OptionsCursor{}, 10)
			return len(all), err
		},
		"FindCustomer": func(s app.StoreID) (int, error) {
			_, err := db.FindCustomer(t.Context(), s, phone)
			return found(err)
		},
		"ExportCustomer": func(s app.StoreID) (int, error) {
			orders := 0
			err := db.ExportCustomer(t.Context(), s, *order.Customer.ID, func(part app.CustomerExport) error {
				orders += len(part.Orders)
				return nil
			})
			return orders, err
		},
		"Menu": func(s app.StoreID) (int, error) {
			all, _, err := db.Menu(t.Context(), noon, s, app.ProductFilter{}, ordering.MenuCursor{}, firstPage)
			return count1(all, func(p app.ListedProduct) bool { return p.ID == dish.ID }), err
		},
		"ImportProducts": func(s app.StoreID) (int, error) {
			done, err := db.ImportProducts(t.Context(), noon, s, app.Actor{},
				row(func(*app.Product, bool) []app.Detail { return nil }), true, nil)
			return done.Unchanged, err
		},
		"ImportFaults": func(s app.StoreID) (int, error) {
			existing := 0
			_, err := db.ImportFaults(t.Context(), noon, s, row(func(_ *app.Product, exists bool) []app.Detail {
				existing = map[bool]int{true: 1}[exists]
				return nil
			}))
			return existing, err
		},
		"ChangeStock": func(s app.StoreID) (int, error) {
			_, err := db.ChangeStock(t.Context(), noon, s, dish.ID, 0, app.StockChange{Set: new(int64(8))}, nil)
			return found(err)
		},
		"EndSoldOut": func(s app.StoreID) (int, error) {
			wait, err := db.EndSoldOut(t.Context(), noon, s, soldOut.ID)
			return count1([]time.Duration{wait}, func(wait time.Duration) bool { return wait > 0 }), err
		},
		"SeatsOfDay": func(s app.StoreID) (int, error) {
			seats, err := db.SeatsOfDay(t.Context(), s, day)
			return min(seats.Peak, 1), err
		},
		"Slots": func(s app.StoreID) (int, error) {
			all, err := db.Slots(t.Context(), at, s, app.Actor{Realm: app.RealmTenant},
				app.SlotQuery{Date: day, PartySize: 1})
			return min(count1(all, func(one app.Slot) bool { return one.SeatsLeft == 50-3 }), 1), err
		},
		"EraseReservation": func(s app.StoreID) (int, error) {
			return found(db.EraseReservation(t.Context(), noon, s, app.Actor{}, ended.ID))
		},
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		t.Run(name, func(t *testing.T) {
			for which, store := range map[string]app.StoreID{"sibling": r.Stores[1], "foreign": foreign.Stores[0],
				"unknown": "sto_unknown", "empty": ""} {
				if n, err := methods[name](store); n != 0 && err == nil || err != nil &&
					!slices.Contains([]app.Code{app.CodeNotFound, app.CodeValidationFailed}, app.CodeOf(err)) {
					t.Errorf("in the %s store: got %d and error %v, want 0", which, n, err)
				}
			}
			if n, err := methods[name](mine); err != nil || n != 1 {
				t.Errorf("in the store of the rows: got %d and error %v, want 1", n, err)
			}
		})
	}
	if count(t, db, "SELECT count(*) FROM reservations WHERE customer_name = '' AND id = $1", ended.ID) != 1 {
		t.Error("the erasure in the store of the rows found no reservation")
	}
}

// Every method of the package ordering that takes a store is called for other stores by a test of this package.
func TestIsolationIsComplete(t *testing.T) {
	t.Parallel()
	called := map[string]bool{}
	for _, file := range parsed(t, "*_test.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.SelectorExpr); ok {
				called[call.Sel.Name] = true
			}
			return true
		})
	}
	methods := 0
	for name, file := range parsed(t, "ordering/*.go") {
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || !takesStore(f) || strings.HasSuffix(name, "_test.go") {
				continue
			}
			if methods++; !called[f.Name.Name] {
				t.Errorf("%s: no test calls it for another store", f.Name.Name)
			}
		}
	}
	if methods < 40 {
		t.Errorf("methods with a store: got %d, want at least 40", methods)
	}
}

// parsed returns the syntax of files by their names.
func parsed(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(pattern)
	must(t, err)
	files := map[string]*ast.File{}
	for _, name := range names {
		files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
	}
	return files
}

// takesStore reports whether a parameter of a function is the id of a store.
func takesStore(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		named, ok := p.Type.(*ast.SelectorExpr)
		return ok && named.Sel.Name == "StoreID"
	})
}
