package api

import (
	"fmt"

	"github.com/comanda-dev/comanda/app"
)

// orderActions returns the actions on orders, payments, products and erasures.
func (w actionMaker) orderActions() map[string]func() auditCase {
	owner, own, ownerLine := w.tokens["OWNER"], w.stores["own"], w.ownerLine()
	return map[string]func() auditCase{
		"refund": func() auditCase {
			payment := string(w.pay(own, 1000).ID)
			body := refundBody(400)
			return auditCase{func() *response { return w.here("POST", "/payments/"+payment+"/refunds", owner, body) }, 201,
				func(a *response) []line {
					details := fmt.Sprintf(`{"orderId": "1", "currency": "EUR", "refundId": %q, "amountMinor": 400}`,
						a.dataID())
					return in(ownerLine.of(app.AuditRefundIssued, payment, details), "own")
				}}
		},
		"prices": func() auditCase {
			dish := w.addDish(size())
			groups := []any{altered(size(), object{"options": []any{
				object{"name": "Klein", "prices": object{"USD": 0}},
				object{"name": "Groß", "priceMinor": 220, "prices": object{"USD": 250}},
			}})}
			change := object{"priceMinor": 1300, "prices": object{"USD": nil, "CHF": 1400}, "optionGroups": groups}
			details := fmt.Sprintf(`{"name": %q, "prices": {"to": {"CHF": 1400, "EUR": 1300}, `+
				`"from": {"EUR": %d, "USD": 1300}}, `+
				`"options": {"Size: Groß": {"to": {"EUR": 220}, "from": {"EUR": 200}}}}`,
				dish.Name, dish.PriceMinor)
			return auditCase{
				func() *response { return w.here("PATCH", "/products/"+string(dish.ID), owner, change) }, 200,
				exactly(in(ownerLine.of(app.AuditPricesChanged, string(dish.ID), details), "own")...),
			}
		},
		"a product without its prices": func() auditCase {
			path := "/products/" + string(w.addDish(size()).ID)
			return auditCase{func() *response { return w.here("PATCH", path, owner, object{"name": "New"}) }, 200, exactly()}
		},
		"imported prices": func() auditCase {
			w.importCSV("sku;name;priceMinor;currency\nimp-1;Soup;500;EUR\nimp-2;Salad;600;EUR\n")
			rows := []any{object{"sku": "imp-1", "name": "Soup", "priceMinor": 550, "currency": "EUR"},
				object{"sku": "imp-2", "name": "Green salad", "priceMinor": 600, "currency": "EUR"},
				object{"sku": "imp-3", "name": "Bread", "priceMinor": 100, "currency": "EUR"}}
			soup := w.text("SELECT id FROM products WHERE sku = 'imp-1'")
			details := `{"name": "Soup", "prices": {"to": {"EUR": 550}, "from": {"EUR": 500}}}`
			return auditCase{func() *response { return w.here("POST", "/products/import", owner, rows) }, 200,
				exactly(in(ownerLine.of(app.AuditPricesChanged, soup, details), "own")...)}
		},
		"cancellation": func() auditCase {
			made, path := w.place(nil)
			body := object{"status": "CANCELLED", "cancellationReason": "Ada Lovelace called"}
			details := fmt.Sprintf(`{"orderId": %q, "currency": "EUR", "totalMinor": %d, "previousStatus": "RECEIVED"}`,
				made.Number, made.TotalMinor)
			return auditCase{func() *response { return w.here("PATCH", path+"/status", owner, body) }, 200,
				exactly(in(ownerLine.of(app.AuditOrderCancelled, string(made.ID), details), "own")...)}
		},
		"repeated cancellation": func() auditCase {
			_, path := w.place(nil)
			body := object{"status": "CANCELLED", "cancellationReason": "closed"}
			w.do("PATCH", path+"/status", owner, body).ok(200, nil)
			return auditCase{func() *response { return w.here("PATCH", path+"/status", owner, body) }, 200, exactly()}
		},
		"the erasure of a customer": func() auditCase {
			customer := string(w.addGuest(own.id))
			return auditCase{func() *response { return w.here("DELETE", "/customers/"+customer, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditCustomerErased, customer, "{}"), "own")...)}
		},
		"the erasure of a reservation": func() auditCase {
			id := string(w.addEndedReservation(own.id))
			return auditCase{func() *response { return w.here("DELETE", "/reservations/"+id, owner, nil) }, 204,
				exactly(in(ownerLine.of(app.AuditCustomerErased, id, "{}"), "own")...)}
		},
		"repeated refund": func() auditCase {
			path, body := "/payments/"+string(w.pay(own, 1000).ID)+"/refunds", refundBody(400)
			w.do("POST", path, owner, body).ok(201, nil)
			return auditCase{func() *response { return w.here("POST", path, owner, body) }, 200, exactly()}
		},
	}
}
