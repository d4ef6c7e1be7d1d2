package identity_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestAuthenticateKey(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	issued := r.Key(t, db, 1, "")
	got, err := db.AuthenticateKey(t.Context(), noon, issued.Key)
	must(t, err)
	want := app.Principal{
		Realm: app.RealmAPIKey, APIKeyID: issued.ID, StoreID: r.Stores[1], WebsiteID: r.Website,
		Scopes: []app.Scope{app.ScopeReadOrders},
		View:   app.StoreView{ID: r.View(t, db, 1), Code: "de_de", Locale: "de-DE", Currency: "EUR", IsDefault: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("principal (-want +got):\n%s", diff)
	}
	for name, key := range map[string]app.Secret{"unknown": app.NewAPIKeySecret(app.KeyLive),
		"malformed": app.NewSecret("svc_live_sk_"), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			if p, err := db.AuthenticateKey(t.Context(), noon, key); app.CodeOf(err) != app.CodeTokenInvalid ||
				p.Realm != "" {
				t.Errorf("%s key: got %+v and error %v, want %s", name, p, err, app.CodeTokenInvalid)
			}
		})
	}
	if _, err := db.RevokeAPIKey(t.Context(), noon, r.Caller(t, db.DB, 1), app.Actor{}, issued.ID); err != nil {
		t.Error(err)
	}
	if p, err := db.AuthenticateKey(t.Context(), noon, issued.Key); app.CodeOf(err) != app.CodeAPIKeyRevoked ||
		p.Realm != "" {
		t.Errorf("revoked key: got %+v and error %v, want %s", p, err, app.CodeAPIKeyRevoked)
	}
}

// The time of last use is written at most once a minute, also under concurrent requests.
func TestLastUseIsWrittenOncePerMinute(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	issued := r.Key(t, db, 0, "")
	writes := map[string]bool{}
	for _, second := range []int{0, 1, 59, 60, 61, 119, 120, 30} {
		now := noon.Add(time.Duration(second) * time.Second)
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := db.AuthenticateKey(t.Context(), now, issued.Key); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		var version string
		must(t, db.System().DB.QueryRowContext(t.Context(), `SELECT xmin::text || ' ' || last_used_at FROM api_keys
			WHERE id = $1`, issued.ID).Scan(&version))
		writes[version] = true
	}
	if len(writes) != 3 {
		t.Errorf("versions of the row: got %d, want 3: %v", len(writes), writes)
	}
}

// A sandbox has the members of its store, also after changes of memberships.
func TestSandboxFollowsMemberships(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	sandbox := r.Key(t, db, 0, app.KeyTest).StoreID
	members := func(store app.StoreID) map[string]string {
		rows, err := db.System().DB.QueryContext(t.Context(), `SELECT user_id, role FROM memberships
			WHERE store_id = $1`, store)
		must(t, err)
		defer rows.Close()
		roles := map[string]string{}
		for rows.Next() {
			var user, role string
			must(t, rows.Scan(&user, &role))
			roles[user] = role
		}
		must(t, rows.Err())
		return roles
	}
	for _, change := range []string{
		"SELECT 1",
		`INSERT INTO users (id, email, email_proven, name, password_hash, created_at)
			VALUES ('usr_new', 'new@example.com', true, 'New', '-', now())`,
		`INSERT INTO memberships (user_id, store_id, role, created_at) SELECT 'usr_new', id, 'ADMIN', now() FROM stores
			WHERE sandbox_of IS NULL`,
		"UPDATE memberships SET role = 'STAFF' WHERE user_id = 'usr_new' AND store_id = '" + string(r.Stores[0]) + "'",
		"DELETE FROM memberships WHERE user_id = 'usr_new' AND store_id = '" + string(r.Stores[1]) + "'",
		"DELETE FROM memberships WHERE user_id = 'usr_new' AND store_id = '" + string(r.Stores[0]) + "'",
	} {
		_, err := db.System().DB.ExecContext(t.Context(), change)
		must(t, err)
		if diff := cmp.Diff(members(r.Stores[0]), members(sandbox)); diff != "" || len(members(sandbox)) == 0 {
			t.Errorf("members of the sandbox after %s (-store +sandbox): %s", change, diff)
		}
	}
}

// A new sandbox has the settings of its store in all columns.
func TestSandboxCopiesSettings(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	_, err := db.System().DB.ExecContext(t.Context(), `UPDATE stores SET business_day_cutoff_hour = 4,
		tax_delivery_fee = false WHERE id = $1`, r.Stores[0])
	must(t, err)
	sandbox := r.Key(t, db, 0, app.KeyTest).StoreID
	var live, twin, name string
	const rules = `SELECT (to_jsonb(s) - '{id,name,created_at,sandbox_of}'::text[])::text, name FROM stores s
		WHERE id = $1`
	must(t, db.System().DB.QueryRowContext(t.Context(), rules, r.Stores[0]).Scan(&live, &name))
	must(t, db.System().DB.QueryRowContext(t.Context(), rules, sandbox).Scan(&twin, &name))
	if live != twin || name != "one.example (sandbox)" {
		t.Errorf("sandbox %q: got settings %s, want %s", name, twin, live)
	}
}

// A sandbox gets the oldest products of a large menu, up to a size and a number.
func TestSandboxOfALargeMenu(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	insert := func(store app.StoreID, products, parts int) {
		_, err := db.System().DB.ExecContext(t.Context(), `INSERT INTO products (id, store_id, name, description,
				price_minor, currency, created_at, updated_at)
			SELECT 'prd_' || uuidv7_hex(now(), n), $1, 'Dish ' || n, (SELECT coalesce(
					string_agg(encode(sha512((n || ' ' || i)::text::bytea), 'base64'), ''), '')
				FROM generate_series(1, $3) i), 1, 'EUR', now(), now()
			FROM generate_series(1, $2) n`, store, products, parts)
		must(t, err)
	}
	insert(r.Stores[0], 60, 10_000) // 870 KiB each, which cannot be compressed
	insert(r.Stores[1], 10_100, 0)
	for i, want := range []int{20, 10_000} {
		sandbox := r.Key(t, db, i, app.KeyTest).StoreID
		const products = `SELECT count(*) FROM products WHERE store_id = $1`
		var got int
		must(t, db.System().DB.QueryRowContext(t.Context(), products, sandbox).Scan(&got))
		if got != want {
			t.Errorf("sandbox of store %d: got %d products, want %d", i, got, want)
		}
	}
}

func TestAPIKeysByStore(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	live, test, siblings := r.Key(t, db, 0, app.KeyLive), r.Key(t, db, 0, app.KeyTest), r.Key(t, db, 1, app.KeyTest)
	caller := r.Caller(t, db.DB, 0)
	for store, want := range map[app.StoreID][]app.APIKeyID{
		r.Stores[0]: {test.ID, live.ID}, test.StoreID: {test.ID}, r.Stores[1]: {siblings.ID}, "sto_unknown": nil,
		"": nil,
	} {
		keys, err := db.APIKeys(t.Context(), store, "", 100)
		must(t, err)
		var ids []app.APIKeyID
		for _, key := range keys {
			ids = append(ids, key.ID)
		}
		slices.Sort(ids)
		slices.Sort(want)
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("keys of store %q (-want +got): %s", store, diff)
		}
		for _, key := range []app.APIKeyID{live.ID, test.ID, siblings.ID} {
			caller.StoreID = store
			_, err := db.RevokeAPIKey(t.Context(), noon, caller, app.Actor{}, key)
			if slices.Contains(want, key) != (err == nil) || err != nil && app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("revoke key %s in store %q: got error %v, own keys are %v", key, store, err, want)
			}
		}
	}
	_, err := db.IssueAPIKey(t.Context(), noon, "sto_unknown",
		app.NewAPIKey{Name: "x", Scopes: app.Scopes[:]})
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("create a key of an unknown store: got error %v, want %s", err, app.CodeNotFound)
	}
}

// A user who joins during the creation of the sandbox is a member of both stores.
func TestJoinDuringSandboxCreation(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	var wait sync.WaitGroup
	wait.Go(func() { r.Key(t, db, 0, app.KeyTest) })
	for i := range 12 {
		wait.Go(func() {
			_, err := db.CreateUser(t.Context(), noon, identity.NewUser{
				Email: fmt.Sprint(i, "@example.com"), PasswordHash: "-",
				Roles: map[app.StoreID]app.Role{r.Stores[0]: app.RoleStaff},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	const members = `SELECT count(*) FROM memberships m JOIN stores s ON s.id = m.store_id
		WHERE s.sandbox_of IS NOT NULL`
	if n := count(t, db, members); n != 13 {
		t.Errorf("members of the sandbox: got %d, want 13", n)
	}
}

// A session that has ended since the request began neither invites nor resends an invitation.
func TestEndedSessionsDoNotInvite(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	pending, caller := r.Invite(t, db.DB, "a token"), r.Caller(t, db.DB, 0)
	_, err := db.System().DB.ExecContext(t.Context(), `UPDATE sessions SET ended_at = now(), end_reason = 'password'
		WHERE id = $1`, caller.SessionID)
	must(t, err)
	_, err = db.Invite(t.Context(), noon, caller, app.Actor{ID: string(r.Owner.ID)},
		app.Invitation{Email: "ada@example.com", Name: "Ada", Role: app.RoleOwner, StoreIDs: r.Stores},
		app.NewSecret("another"), time.Hour, nil)
	if app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("Invite: got error %v, want TOKEN_REVOKED", err)
	}
	_, err = db.ResendInvitation(t.Context(), noon, caller, app.Actor{ID: string(r.Owner.ID)}, pending.ID,
		app.NewSecret("another"), time.Hour)
	if app.CodeOf(err) != app.CodeTokenRevoked {
		t.Errorf("ResendInvitation: got error %v, want TOKEN_REVOKED", err)
	}
}
