package api

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

const (
	personal      = "Zyx-Canary" // in everything that a customer or staff wrote about the customer
	personalEmail = "zyx-canary@example.com"
	personalPhone = "+4915799998888"
	personalCard  = "7319"
)

// placesOf returns the tables in which a text occurs, except in generated columns of the same row.
func (w *world) placesOf(texts ...string) (places []string) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.db.OwnerURL)
	w.must(err)
	defer conn.Close(context.WithoutCancel(w.Context()))
	rows, err := conn.Query(w.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY relname`)
	w.must(err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.must(err)
	for _, table := range tables {
		rows, err := conn.Query(w.Context(), `SELECT lower(to_jsonb(t)::text) FROM "`+table+`" t`)
		w.must(err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		w.must(err)
		for _, text := range texts {
			hexed := hexOf(text)
			if slices.ContainsFunc(lines, func(line string) bool {
				return strings.Contains(line, strings.ToLower(text)) || strings.Contains(line, hexed)
			}) {
				places = append(places, table+": "+text)
			}
		}
	}
	return places
}

// A payment or a refund that is recorded after the erasure contains no personal data. A repetition of an earlier one
// finds it, although the erasure has changed it.
func TestPayAfterErasure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff, s := w.tokens["OWNER"], w.addShopper()
	path := "/orders/" + string(s.order.ID) + "/payments"
	card := object{"cardLast4": personalCard}
	paid, failed := altered(paymentBody(), card), altered(paymentBody(), card)
	failed["status"], failed["errorCode"] = "FAILED", "declined"
	var payment app.Payment
	w.do("POST", path, staff, paid).ok(201, &payment)
	refunds := "/payments/" + string(payment.ID) + "/refunds"
	refunded := altered(refundBody(1), object{"reason": personal})
	w.do("POST", refunds, staff, refunded).ok(201, nil)
	w.settle(s)
	w.do("DELETE", s.path, w.tokens["ADMIN"], nil).ok(204, nil)
	w.exec("DELETE FROM outbox")
	w.do("POST", path, staff, paid, header("Idempotency-Key", "again")).ok(200, nil)
	w.do("POST", refunds, staff, refunded, header("Idempotency-Key", "again")).ok(200, nil)
	w.do("POST", path, staff, altered(paid, object{"amountMinor": 1})).refused(app.CodeConflict)
	w.do("POST", refunds, staff, altered(refunded, object{"amountMinor": 2})).refused(app.CodeConflict)
	w.do("POST", path, staff, failed, header("Idempotency-Key", "new")).ok(201, nil)
	w.do("POST", path, staff, altered(paymentBody(), card)).ok(201, nil)
	later := altered(refundBody(1), object{"reason": personal})
	w.do("POST", refunds, staff, later, header("Idempotency-Key", "new")).ok(201, nil)
	w.do("POST", refunds, staff, later).ok(200, nil)
	if places := w.placesOf(personal, personalCard+`"`); len(places) > 0 {
		t.Errorf("personal data: got %q, want none", places)
	}
}

// The card, the reasons and the notes of an order from the time before it was given to another customer are erased with
// the former one. Later ones stay. A repeated payment or refund finds the first one, although the erasure changed it.
func TestEraseFormerCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	staff, s := w.tokens["OWNER"], w.addShopper()
	path := "/orders/" + string(s.order.ID)
	paid := altered(paymentBody(), object{"cardLast4": personalCard})
	var payment app.Payment
	w.do("POST", path+"/payments", staff, paid).ok(201, &payment)
	refunds, refunded := "/payments/"+string(payment.ID)+"/refunds", altered(refundBody(1), object{"reason": personal})
	w.do("POST", refunds, staff, refunded).ok(201, nil)
	var o orderOut
	w.do("GET", path, staff, nil).ok(200, &o)
	w.amend(o, staff, object{"note": nil, "items": []any{object{"id": o.Items[0].ID, "note": nil}}}).ok(200, &o)
	w.now = w.now.Add(time.Second)
	w.amend(o, staff, object{
		"customer": object{"name": "Bob"}, "deliveryAddress": object{"line1": "1 Road"},
	}).ok(200, nil)
	w.now = w.now.Add(time.Second)
	later := altered(paymentBody(), object{"cardLast4": "4242", "transactionId": "later"})
	w.do("POST", path+"/payments", staff, later).ok(201, nil)
	w.settle(s)
	w.do("DELETE", s.path, w.tokens["ADMIN"], nil).ok(204, nil)
	w.exec("DELETE FROM outbox")
	w.exec("UPDATE orders SET metadata = '{}'")
	w.do("POST", path+"/payments", staff, paid).ok(200, nil)
	w.do("POST", refunds, staff, refunded).ok(200, nil)
	w.do("POST", path+"/payments", staff, altered(paid, object{"amountMinor": 1})).refused(app.CodeConflict)
	w.do("POST", refunds, staff, altered(refunded, object{"amountMinor": 2})).refused(app.CodeConflict)
	w.do("POST", path+"/payments", staff, altered(later, object{"cardLast4": "1111"})).refused(app.CodeConflict)
	if places := w.placesOf(personal, personalCard+`"`); len(places) > 0 {
		t.Errorf("personal data: got %q, want none", places)
	}
	if places := w.placesOf(`4242"`); len(places) != 1 {
		t.Errorf("the card of the new customer: got %q, want it in payments", places)
	}
}

// shopper is a customer with data in every table.
type shopper struct {
	loginCustomerOut
	path        string
	order       app.Order
	reservation reservationOut
}

// addShopper registers a customer who orders, pays, is refunded and reserves. The order and the reservation are open.
func (w *world) addShopper() *shopper {
	w.Helper()
	w.exec("UPDATE subscriptions SET events = $1", app.EventTypes[:])
	staff, own := w.tokens["OWNER"], w.stores["own"]
	s := &shopper{loginCustomerOut: w.addCustomer("own", personalEmail)}
	s.path = "/customers/" + string(s.Customer.ID)
	w.do("PATCH", s.path, s.AccessToken, object{"firstName": personal, "phone": personalPhone}).ok(200, nil)
	w.do("POST", s.path+"/addresses", s.AccessToken, altered(addressBody(), object{"label": personal}),
		header("Idempotency-Key", "address")).ok(201, nil)
	w.do("POST", "/orders", staff, object{
		"items":           []any{object{"productId": own.product.ID, "quantity": 3, "note": personal}},
		"customerId":      s.Customer.ID,
		"fulfillmentType": "DELIVERY", "note": personal, "metadata": object{"by": personal},
		"deliveryAddress": object{"line1": personal + " street", "city": "Berlin", "country": "DE"},
	}, header("Idempotency-Key", "order")).ok(201, &s.order)
	path := "/orders/" + string(s.order.ID)
	var payment app.Payment
	w.do("POST", path+"/payments", staff, altered(paymentBody(), object{"cardLast4": personalCard}),
		header("Idempotency-Key", "payment")).ok(201, &payment)
	w.do("POST", "/payments/"+string(payment.ID)+"/refunds", staff, altered(refundBody(1), object{"reason": personal}),
		header("Idempotency-Key", "refund")).ok(201, nil)
	w.do("POST", "/reservations", staff, altered(reservationBody(), object{
		"customer": nil, "customerId": s.Customer.ID, "notes": personal, "tableLabel": personal,
	}), header("Idempotency-Key", "reservation")).ok(201, &s.reservation)
	w.do("POST", "/customer-auth/login", "", altered(credentials(personalEmail, "wrong"), object{"storeId": own.id})).
		refused(app.CodeInvalidCredentials)
	w.exec(`INSERT INTO customer_email_changes (id, store_id, customer_id, email, token_hash, created_at, expires_at)
		SELECT 'emc_' || id, store_id, id, 'new-' || email, sha256(id::bytea), created_at,
			created_at + interval '1 hour'
		FROM customers WHERE id = $1`, s.Customer.ID)
	return s
}

// settle ends the order and the reservation of a customer.
func (w *world) settle(s *shopper) {
	w.Helper()
	for _, change := range []struct {
		path string
		body object
	}{
		{"/orders/" + string(s.order.ID), object{"status": "COMPLETED"}},
		{"/reservations/" + string(s.reservation.ID), object{"status": "CANCELLED", "cancellationReason": personal}},
	} {
		w.do("PATCH", change.path+"/status", w.tokens["OWNER"], change.body).ok(200, nil)
	}
}

// TestEraseCustomer: an erasure leaves nothing personal in any table, except in the bodies of events whose deliveries
// have not ended, and does not change the books.
func TestEraseCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, admin := w.stores["own"].id, w.tokens["ADMIN"]
	s := w.addShopper()
	w.do("DELETE", s.path, admin, nil).refused(app.CodeConflict)
	w.settle(s)
	// A failed payment does not change its order.
	w.exec("UPDATE orders SET updated_at = updated_at - interval '9 days'")
	var open, ended app.DeliveryID
	for _, c := range persistencetest.Claim(t, w.db) {
		switch {
		case c.EventType == app.EventCustomerCreated && c.StoreID == own:
			open = c.ID
			persistencetest.Attempt(t, w.db, c.ID, 1, app.AttemptRetrying, time.Second)
			continue
		case c.EventType == app.EventCustomerUpdated:
			ended = c.ID
		}
		persistencetest.Attempt(t, w.db, c.ID, 1, app.AttemptDelivered, time.Second)
	}
	w.exec("UPDATE attempts SET response_body = $1, response_headers = $2, request_headers = '{}'", personal,
		`{"Location": ["/`+personal+`"]}`)
	books := func() (all []string) {
		for _, path := range []string{"summary", "sales", "products", "channels", "customers"} {
			a := w.do("GET", "/analytics/"+path+"?from=2026-03-14&to=2026-03-14", admin, nil).ok(200, nil)
			all = append(all, string(a.body.Data))
		}
		return append(all, w.text(`SELECT string_agg(concat_ws(' ', id, status, subtotal_minor, discount_minor,
			delivery_fee_minor, tax_minor, total_minor, paid_minor, refunded_minor, item_count, business_date), ','
			ORDER BY id)
			|| (SELECT string_agg(concat_ws(' ', id, total_orders, loyalty_points), ',' ORDER BY id) FROM customers)
			|| (SELECT string_agg(concat_ws(' ', id, amount_minor, refunded_minor, transaction_id), ',' ORDER BY id)
				FROM payments) FROM orders`))
	}
	before := books()
	w.do("DELETE", s.path, admin, nil).ok(204, nil)
	if diff := cmp.Diff(before, books()); diff != "" {
		t.Error("books (-before +after):", diff)
	}
	texts := []string{personal, personalEmail, personalPhone, personalCard + `"`}
	allowed := func(place string) bool {
		return strings.HasPrefix(place, "outbox: ") || strings.HasPrefix(place, "attempts: ")
	}
	if places := slices.DeleteFunc(w.placesOf(texts...), allowed); len(places) > 0 {
		t.Errorf("personal data after the erasure: got %q, want none outside events", places)
	}
	attempt := w.do("GET", w.text(`SELECT '/webhooks/' || subscription_id || '/deliveries/' || id FROM attempts
		WHERE delivery_id = $1`, open), admin, nil).ok(200, nil).Body.String()
	for _, text := range texts {
		if strings.Contains(attempt, text) {
			t.Errorf("attempt of an open delivery: got %s, want it without %q", attempt, text)
		}
	}
	w.do("POST", "/deliveries/"+string(ended)+"/replay", w.tokens["OWNER"], nil).refused(app.CodePayloadErased)
	step, err := w.db.EraseCustomerBodies(t.Context(), noon, own, s.Customer.ID, "", 100)
	w.must(err)
	if step.Waiting != 1 || step.Erased == 0 {
		t.Errorf("first step: got %+v, want one event that waits for its retry", step)
	}
	persistencetest.Attempt(t, w.db, open, 2, app.AttemptDelivered, time.Second)
	for _, c := range persistencetest.Claim(t, w.db) { // customer.updated of the erasure
		persistencetest.Attempt(t, w.db, c.ID, 1, app.AttemptDelivered, time.Second)
	}
	step, err = w.db.EraseCustomerBodies(t.Context(), noon, own, s.Customer.ID, "", 100)
	if err != nil || step.Waiting != 0 {
		t.Errorf("last step: got %+v and error %v, want nothing that waits", step, err)
	}
	w.exec(`UPDATE attempts SET response_body = NULL, response_headers = NULL
		WHERE event_id NOT IN (SELECT id FROM outbox WHERE erasing <> '')`)
	if places := w.placesOf(texts...); len(places) > 0 {
		t.Errorf("personal data after the deliveries: got %q, want none", places)
	}
	var event struct{ Data app.CustomerUpdated }
	w.read(json.RawMessage(w.text("SELECT body FROM outbox WHERE type = 'customer.updated' AND body <> ''")), &event)
	updated := event.Data
	want := s.Customer
	want.Email, want.FirstName, want.LastName, want.Phone = "", "", "", ""
	want.TotalOrders, want.LoyaltyPoints = updated.TotalOrders, updated.LoyaltyPoints
	want.Version, want.UpdatedAt, want.Metadata = updated.Version, updated.UpdatedAt, updated.Metadata
	want.ErasedAt = new(app.At(noon))
	if diff := cmp.Diff(app.CustomerUpdated{Customer: want, UpdatedFields: []string{"erased"}}, updated); diff != "" {
		t.Error("customer.updated (-want +got):", diff)
	}
	var shown customerOut
	w.do("GET", "/customers/"+string(s.Customer.ID), w.tokens["MANAGER"], nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown.Customer); diff != "" {
		t.Error("the erased customer (-want +got):", diff)
	}
	if got := w.text(`SELECT count(*) FROM audit WHERE actor_realm = 'customer' AND address <> '` +
		string(s.Customer.ID) + `' AND (actor_id = '` + string(s.Customer.ID) + `' OR target = '` +
		string(s.Customer.ID) + `')`); got != "0" {
		t.Errorf("audit entries with the customer's address: got %s, want 0", got)
	}
	w.afterErasure(s)
}

// afterErasure checks that nobody can use an erased customer.
func (w *world) afterErasure(s *shopper) {
	w.Helper()
	w.do("DELETE", s.path, w.tokens["ADMIN"], nil).refused(app.CodeNotFound)
	w.do("PATCH", s.path, w.tokens["ADMIN"], object{"firstName": "Ada"}).refused(app.CodeNotFound)
	w.do("GET", s.path, s.AccessToken, nil).refused(app.CodeTokenRevoked)
	order := altered(w.orderBody("own"), object{"customer": nil, "customerId": s.Customer.ID})
	w.do("POST", "/orders", w.tokens["OWNER"], order).refused(app.CodeValidationFailed, "customerId")
	w.do("POST", "/orders/quote", w.tokens["OWNER"], order).refused(app.CodeValidationFailed, "customerId")
	reservation := altered(reservationBody(), object{"customer": nil, "customerId": s.Customer.ID})
	w.do("POST", "/reservations", w.tokens["OWNER"], reservation).refused(app.CodeValidationFailed, "customerId")
	jobs := w.text("SELECT string_agg(subject, ',') FROM jobs WHERE kind = 'erasure'")
	if jobs != string(s.Customer.ID) {
		w.Errorf("jobs: got %s, want one for %s", jobs, s.Customer.ID)
	}
	w.addCustomer("own", personalEmail) // the email is free again
	w.exec("DELETE FROM outbox")        // erased bodies do not fit the schema
}

func TestEraseOwnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.addShopper()
	w.exec("UPDATE customers SET password_hash = $1 WHERE id = $2", quickHash(t, "x"), s.Customer.ID)
	w.do("DELETE", s.path, s.AccessToken, nil).refused(app.CodeValidationFailed, "password")
	w.do("DELETE", s.path, s.AccessToken, object{"password": "y"}).refused(app.CodeInvalidCredentials)
	w.do("DELETE", s.path, s.AccessToken, object{"password": "x"}).refused(app.CodeConflict)
	w.settle(s)
	w.do("DELETE", s.path, w.key("own", app.ScopeReadCustomers), nil).refused(app.CodeInsufficientScope)
	w.do("DELETE", s.path, w.tokens["MANAGER"], nil).refused(app.CodeInsufficientRole)
	w.do("DELETE", s.path, w.tokens["ADMIN"], object{"password": "x"}).refused(app.CodeValidationFailed, "password")
	other := w.addCustomer("own", "other@example.com")
	w.do("DELETE", s.path, other.AccessToken, object{"password": "x"}).refused(app.CodeNotFound)
	w.do("DELETE", s.path, w.token("OWNER", w.stores["sibling"].id), nil).refused(app.CodeStoreMismatch)
	w.do("DELETE", s.path, s.AccessToken, object{"password": "x"}).ok(204, nil)
	if places := slices.DeleteFunc(w.placesOf(personal, personalEmail, personalPhone), func(place string) bool {
		return strings.HasPrefix(place, "outbox: ")
	}); len(places) > 0 {
		t.Errorf("personal data after the erasure: got %q, want none outside events", places)
	}
	if got := w.text("SELECT count(*) FROM outbox WHERE erasing IS NULL AND body LIKE '%" + string(s.Customer.ID) +
		"%' AND body NOT LIKE '%\"erased\"%'"); got != "0" {
		t.Errorf("events of the customer that are not marked: got %s, want 0", got)
	}
	// An account without a password.
	w.exec("UPDATE customers SET password_hash = '' WHERE id = $1", other.Customer.ID)
	w.do("DELETE", "/customers/"+string(other.Customer.ID), other.AccessToken, nil).ok(204, nil)
	w.exec("DELETE FROM jobs WHERE subject = $1", other.Customer.ID)
	w.afterErasure(s)
}

// addEndedReservation adds a cancelled reservation of a guest who is not a customer.
func (w *world) addEndedReservation(store app.StoreID) app.ReservationID {
	w.Helper()
	made, err := w.db.Reserve(w.Context(), noon, store, app.NewReservation{
		Guest:     app.ReservationCustomer{Name: personal, Email: personalEmail, Phone: personalPhone},
		PartySize: 1, StartAt: app.At(noon.Add(24 * time.Hour)), Notes: personal,
		Metadata: map[string]string{"by": personal},
	}, nil)
	w.must(err)
	_, err = w.db.ChangeReservationStatus(w.Context(), noon, store, made.ID, 0, app.ReservationStatusChange{
		To: app.ReservationCancelled, Reason: personal,
	})
	w.must(err)
	return made.ID
}

// An erasure leaves nothing personal of the reservation of a guest who is not a customer.
func TestEraseReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, admin := w.stores["own"], w.tokens["ADMIN"]
	var made reservationOut
	w.do("POST", "/reservations", w.tokens["OWNER"], altered(reservationBody(), object{
		"customer": object{"name": personal, "email": personalEmail, "phone": personalPhone}, "notes": personal,
		"tableLabel": personal, "metadata": object{"by": personal},
	}), header("Idempotency-Key", "reservation")).ok(201, &made)
	path := "/reservations/" + string(made.ID)
	w.do("DELETE", path, admin, nil).refused(app.CodeConflict)
	w.do("PATCH", path+"/status", admin, object{"status": "CONFIRMED"}).ok(200, nil)
	w.do("DELETE", path, admin, nil).refused(app.CodeConflict)
	w.do("PATCH", path+"/status", admin, object{"status": "CANCELLED", "cancellationReason": personal}).ok(200, nil)
	w.do("DELETE", path, w.tokens["MANAGER"], nil).refused(app.CodeInsufficientRole)
	for _, id := range []app.ReservationID{made.ID, w.addEndedReservation(own.id)} {
		path := "/reservations/" + string(id)
		w.do("DELETE", path, admin, nil).ok(204, nil)
		w.do("DELETE", path, admin, nil).refused(app.CodeNotFound)
		var left reservationOut
		w.do("GET", path, admin, nil).ok(200, &left)
		if left.Customer != (app.ReservationCustomer{}) || left.Status != app.ReservationCancelled ||
			left.PartySize == 0 || left.Version < 3 {
			t.Errorf("erased reservation: got %+v, want one without a guest", left)
		}
		w.exec("DELETE FROM undispatched WHERE event_id IN (SELECT id FROM outbox WHERE erasing = $1)", id)
		w.exec("DELETE FROM deliveries WHERE event_id IN (SELECT id FROM outbox WHERE erasing = $1)", id)
		step, err := w.db.EraseCustomerBodies(t.Context(), noon, own.id, app.CustomerID(id), "", 100)
		w.must(err)
		if step.Waiting != 0 || step.Erased < 2 {
			t.Errorf("erasure of events: got %+v, want at least two, and none that waits", step)
		}
	}
	if places := w.placesOf(personal, personalEmail, personalPhone); len(places) > 0 {
		t.Errorf("personal data: got %q, want none", places)
	}
	if jobs := w.jobs(app.JobErasure); len(jobs) != 2 {
		t.Errorf("jobs: got %v, want two", jobs)
	}
	w.exec("DELETE FROM outbox") // erased bodies do not fit the schema
}

// TestErasureCancelsQueuedDeliveries: deliveries of an erased customer that are still queued after 30 days are
// cancelled, so that their bodies can be erased. Those of others stay queued.
func TestErasureCancelsQueuedDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own, s := w.stores["own"].id, w.addShopper()
	w.settle(s)
	// A failed payment does not change its order.
	w.exec("UPDATE orders SET updated_at = updated_at - interval '9 days'")
	w.do("DELETE", s.path, w.tokens["ADMIN"], nil).ok(204, nil)
	for {
		dispatched, err := w.db.Dispatch(t.Context(), noon, 1000)
		w.must(err)
		if dispatched.Events == 0 {
			break
		}
	}
	const queued = `SELECT count(*) FROM deliveries d JOIN outbox e ON e.id = d.event_id
		WHERE d.status = 'queued' AND (e.erasing IS NOT NULL) = `
	waiting, others := w.text(queued+"true"), w.text(queued+"false")
	if waiting == "0" || others == "0" {
		t.Fatalf("queued deliveries: got %s of the customer and %s of others, want both", waiting, others)
	}
	cancel := func(after time.Duration) string {
		n, err := w.db.CancelErased(t.Context(), w.now.Add(after), own, s.Customer.ID, 1000)
		w.must(err)
		return strconv.Itoa(n)
	}
	if n := cancel(app.ErasureLimit - time.Minute); n != "0" {
		t.Errorf("cancelled before the limit: got %s deliveries, want none", n)
	}
	if n := cancel(app.ErasureLimit + time.Minute); n != waiting {
		t.Errorf("cancelled after the limit: got %s deliveries, want %s", n, waiting)
	}
	const erased = `SELECT count(*) FROM deliveries
		WHERE status = 'cancelled' AND reason = 'erased' AND ended_at IS NOT NULL`
	if n := w.text(erased); n != waiting {
		t.Errorf("deliveries with the reason: got %s, want %s", n, waiting)
	}
	if n := w.text(queued + "false"); n != others {
		t.Errorf("queued deliveries of others: got %s, want %s", n, others)
	}
	step, err := w.db.EraseCustomerBodies(t.Context(), noon, own, s.Customer.ID, "", 100)
	w.must(err)
	if step.Waiting != 0 || step.Erased == 0 {
		t.Errorf("erasure: got %+v, want no event that waits", step)
	}
	w.exec("DELETE FROM outbox") // erased bodies do not fit the schema
}

// hexOf returns a text as PostgreSQL shows binary columns.
func hexOf(text string) string { return hex.EncodeToString([]byte(text)) }
