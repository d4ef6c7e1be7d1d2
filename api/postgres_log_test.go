package api

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// canary is part of all personal data and credentials of a sweep. PostgreSQL's log must not contain it.
const canary = "canary"

// sweep sends requests with personal data and credentials. Their statements fail because of locks.
type sweep struct {
	*world
	owner    *pgx.Conn // of the tables
	customer loginCustomerOut
	address  string
}

// requests are requests with a canary. round is part of emails, so that each round writes to all tables.
func (s *sweep) requests(round int) []flight {
	email := fmt.Sprintf("%s%d@example.com", canary, round)
	owner, own, me := s.tokens["OWNER"], s.stores["own"], "/customers/"+string(s.customer.Customer.ID)
	place := object{"line1": canary + " street", "city": canary, "postalCode": "12345", "country": "DE"}
	s.exec("DELETE FROM rate_limits")
	var invited struct{ Token string }
	s.do("POST", "/users", owner, object{"email": "invited-" + email, "name": canary, "role": "STAFF"}).
		ok(201, &invited)
	return []flight{
		{"POST", "/customer-auth/register", "", altered(registration(own.id), object{
			"email": email, "firstName": canary,
		})},
		{"POST", "/customer-auth/register", "", altered(registration(own.id), object{
			"email": s.customer.Customer.Email, "lastName": canary, // a duplicate
		})},
		{"POST", "/customer-auth/login", "", altered(credentials(email, canary), object{"storeId": own.id})},
		{"POST", "/auth/login", "", credentials(email, canary)},
		{"POST", "/auth/accept-invite", "", object{"token": invited.Token, "password": canary + " and its cage"}},
		{"POST", "/users", owner, object{"email": email, "name": canary, "role": "STAFF"}},
		{"POST", "/platform/websites", s.tokens["PLATFORM"], altered(websiteBody(fmt.Sprintf("%d.test", round)),
			object{"owner": object{"email": email, "name": canary}})},
		{"POST", "/orders", owner, altered(s.orderBody("own"), object{
			"customer": object{"name": canary, "email": email, "phone": "+491551234567"}, "fulfillmentType": "DELIVERY",
			"deliveryAddress": place, "note": canary,
		})},
		{"GET", "/orders?q=" + canary, owner, nil},
		{"POST", "/reservations", owner, altered(reservationBody(), object{
			"customer": object{"name": canary, "email": email}, "notes": canary,
		})},
		{"PATCH", "/reservations/" + string(s.stores["own"].reservation.ID), owner, object{
			"notes": fmt.Sprintf("%s %d", canary, round),
		}},
		{"GET", "/customers?q=" + canary, owner, nil},
		{"GET", "/reservations?q=" + canary, owner, nil},
		{"PATCH", me, owner, object{"firstName": fmt.Sprintf("%s %d", canary, round)}},
		{"POST", me + "/addresses", s.customer.AccessToken, altered(addressBody(), object{"label": canary})},
		{"PATCH", s.address, s.customer.AccessToken, object{"city": fmt.Sprintf("%s %d", canary, round)}},
		{"POST", "/api-keys", owner, object{"name": canary, "scopes": []string{"read:orders"}}},
		{"POST", "/webhooks", owner, altered(webhookBody(), object{
			"url": "https://example.com/" + canary, "secret": strings.Repeat(canary, 10), "description": canary,
		})},
		{"POST", "/orders/" + string(own.order.ID) + "/payments", owner, altered(paymentBody(), object{
			"transactionId": fmt.Sprintf("%s%d", canary, round),
		})},
		{"POST", "/users", owner, object{"email": strings.Repeat(canary, 60) + "@example.com", "name": canary}},
	}
}

// flight is a request of a sweep.
type flight struct {
	method, path, token string
	body                any
}

// send sends requests concurrently. Their responses do not matter.
func (s *sweep) send(ctx context.Context, flights ...flight) {
	var wait sync.WaitGroup
	for _, f := range flights {
		r := httptest.NewRequestWithContext(ctx, f.method, issuer+f.path, reader(s.T, f.body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("User-Agent", canary)
		if f.method == "POST" && !strings.Contains(f.path, "auth/") {
			r.Header.Set("Idempotency-Key", canary+f.path)
		}
		if f.token != "" {
			r.Header.Set("Authorization", "Bearer "+f.token)
		}
		wait.Go(func() { s.server.ServeHTTP(httptest.NewRecorder(), r) })
	}
	wait.Wait()
}

// interrupt sends requests concurrently, and cancels them when their statements wait for locks of tx. It returns after
// PostgreSQL has cancelled the statements.
func (s *sweep) interrupt(tx pgx.Tx, flights ...flight) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.send(ctx, flights...)
	}()
	for s.waiting(tx) == 0 {
		select {
		case <-ended: // no statement needs the table
			return
		case <-time.After(time.Millisecond):
		}
	}
	time.Sleep(100 * time.Millisecond) // so that more of the statements wait
	cancel()
	<-ended
	for s.waiting(tx) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// waiting returns the number of backends that wait for a lock.
func (s *sweep) waiting(tx pgx.Tx) (n int) {
	s.Helper()
	s.must(tx.QueryRow(s.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&n))
	return n
}

// locked runs f while statements of the owner hold locks.
func (s *sweep) locked(statement string, f func(tx pgx.Tx)) {
	s.Helper()
	tx, err := s.owner.Begin(s.Context())
	s.must(err)
	_, err = tx.Exec(s.Context(), statement)
	s.must(err)
	f(tx)
	s.must(tx.Rollback(context.WithoutCancel(s.Context())))
}

// PostgreSQL logs the text of each statement that fails, and of all statements of a deadlock. The texts contain no
// personal data and no credentials.
func TestPostgreSQLLogContainsNoPersonalData(t *testing.T) {
	t.Parallel()
	log := &logBuffer{}
	s := &sweep{world: newWorldOn(t, persistencetest.NewLogged(t, log))}
	var err error
	s.owner, err = pgx.Connect(t.Context(), s.db.OwnerURL)
	s.must(err)
	t.Cleanup(func() { s.owner.Close(context.Background()) })
	s.customer = s.addCustomer("own", "ada@example.com")
	s.address = "/customers/" + string(s.customer.Customer.ID) + "/addresses/" +
		string(s.addAddress(s.stores["own"].id, s.customer.Customer.ID).ID)

	rows, err := s.owner.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'bun_%' ORDER BY relname`)
	s.must(err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	s.must(err)
	for round, table := range tables {
		flights := s.requests(round)
		s.locked("LOCK TABLE "+table+" IN ACCESS EXCLUSIVE MODE", func(tx pgx.Tx) { s.interrupt(tx, flights...) })
	}
	again := s.requests(len(tables))
	s.send(t.Context(), again...)
	s.send(t.Context(), again...) // duplicates
	s.deadlock()

	for cause, want := range map[string]int{
		"ERROR:  canceling statement": len(tables) / 2, "STATEMENT:  ": len(tables) / 2, "ERROR:  deadlock detected": 1,
	} {
		if got := strings.Count(log.String(), cause); got < want {
			t.Errorf("log entries with %q: got %d, want at least %d", cause, got, want)
		}
	}
	for line := range strings.Lines(log.String()) {
		for _, secret := range []string{canary, "argon2id", "+491551234567"} {
			if strings.Contains(line, secret) {
				t.Errorf("PostgreSQL's log contains %q: %s", secret, cut(line, 500))
			}
		}
	}
}

// deadlock makes a change of a customer part of a deadlock: it locks the row and waits for the table, which another
// transaction has locked that waits for the row.
func (s *sweep) deadlock() {
	s.Helper()
	me := "/customers/" + string(s.customer.Customer.ID)
	ended := make(chan struct{})
	s.locked("LOCK TABLE customers IN SHARE MODE", func(tx pgx.Tx) {
		go func() {
			defer close(ended)
			s.send(s.Context(), flight{"PATCH", me, s.tokens["OWNER"], object{"lastName": canary}})
		}()
		for s.waiting(tx) == 0 {
			time.Sleep(time.Millisecond)
		}
		// One of the two transactions fails.
		_, _ = tx.Exec(s.Context(), "SELECT FROM customers WHERE id = $1 FOR UPDATE", s.customer.Customer.ID)
	})
	<-ended
}
