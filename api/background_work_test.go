package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Records of failed logins of one website, and links for one client network, that do not progress use one connection
// each. Those of others are written.
func TestBackgroundOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	w.addCustomer("foreign", "eve@example.com")
	server, db := w.serverOnConns(24)
	release := w.held("SELECT FROM stores WHERE website_id = $1 FOR UPDATE", w.stores["own"].website)
	const failures = 8
	fail := func(body map[string]any, i int) {
		body = altered(body, object{"password": "wrong"})
		w.doOn(server, "POST", "/customer-auth/login", "", body, from(neighbor(i))).refused(app.CodeInvalidCredentials)
	}
	for i := range failures {
		fail(accounts["customer"].login, i)
	}
	inUse := func() int { return pool(db, pg.RoleApp).InUse + pool(db, pg.RoleSystem).InUse }
	w.until("blocked records", func() bool {
		return inUse() == 1 && server.work.users("background", w.stores["own"].website) == failures
	})
	fail(altered(credentials("eve@example.com", "x"), object{"storeId": w.stores["foreign"].id}), 0)
	recorded := "SELECT count(*) FROM audit WHERE action = 'login.failed' AND store_id = '"
	w.until("record of another website", func() bool {
		return w.text(recorded+string(w.stores["foreign"].id)+"'") == "1"
	})
	w.until("end of that record, with one connection in use", func() bool { return inUse() == 1 })
	release()
	server.Close()
	if n := w.text(recorded + string(w.stores["own"].id) + "'"); n != "8" {
		t.Errorf("records of failed logins: got %s, want 8", n)
	}
}

// Work after a response waits for a place until its own end. No request waits for it.
func TestBackgroundWaitsForAPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	accounts := w.accounts()
	server, _ := w.serverOnPools()
	server.work.wait = time.Millisecond
	background := &places{work: server.work}
	w.must(background.begin(t.Context(), server.work.limitsAfterwards(stranger(neighbor(1), public))...))
	const failures = 3
	for range failures {
		w.doOn(server, "POST", "/auth/login", "", altered(accounts["user"].login, object{"password": "wrong"}),
			from(neighbor(0))).refused(app.CodeInvalidCredentials)
	}
	w.until("waiting records", func() bool {
		return server.work.users("background", neighbor(0)) == failures && server.work.users("public", "") == 0
	})
	background.leave()
	w.until("records", func() bool {
		return w.text("SELECT count(*) FROM audit WHERE action = 'login.failed'") == "3"
	})
}

// A link that resets a password is mailed although the row of its account is locked for a moment. It counts once.
func TestMailsWaitForAccounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.timeout = boundTimeout
	user := w.accounts()["user"]
	server, db := w.serverWithLocks(24, time.Millisecond)
	release := w.held("SELECT FROM users WHERE email = 'ada@example.com' FOR UPDATE")
	before := pool(db, pg.RoleSystem).Served
	user.ask(server).ok(http.StatusAccepted, nil)
	const once = 2 // connections: to look up the account and to enqueue the mail
	w.until("repetition", func() bool { return pool(db, pg.RoleSystem).Served > before+once })
	release()
	server.resets.wait()
	if w.mailed(server) == "" {
		t.Error("mail with a link: got none, want one")
	}
	budget := server.limiter.mac("password reset", string(w.users["ada"].ID))
	if n := w.text("SELECT cardinality(hits) FROM rate_limits WHERE key = $1", budget); n != "1" {
		t.Errorf("counted mails: got %s, want 1", n)
	}
}
