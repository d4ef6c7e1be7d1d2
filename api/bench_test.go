package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/gorilla/mux"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// BenchmarkMe and BenchmarkBare differ by what an authenticated request costs beyond
// net/http, TLS and the router.
func BenchmarkMe(b *testing.B) {
	server, user := benchServer(b)
	session, err := server.db.StartSession(b.Context(), server.now(), app.Actor{}, user, "", time.Hour)
	must(err)
	token, err := server.tokens.mint(server.now(), claims{
		Subject: string(user.ID), Email: user.Email, StoreID: session.StoreID, Role: session.Role, Audience: app.RealmTenant, SessionID: session.ID,
	})
	must(err)
	benchmark(b, server, http.StatusOK, "GET", "/auth/me", token, "")
}

func BenchmarkBare(b *testing.B) {
	router := mux.NewRouter()
	router.HandleFunc("/auth/me", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"success":true,"data":{}}`)
	})
	benchmark(b, router, http.StatusOK, "GET", "/auth/me", "", "")
}

// BenchmarkLogin and BenchmarkBareHash differ by what a login costs beyond Argon2id.
func BenchmarkLogin(b *testing.B) {
	server, user := benchServer(b)
	benchmark(b, server, http.StatusOK, "POST", "/auth/login", "", `{"email":"`+user.Email+`","password":"`+password+`"}`)
}

func BenchmarkBareHash(b *testing.B) {
	hash, err := HashPassword(app.NewSecret(password))
	must(err)
	for b.Loop() {
		if ok, err := argon2id.ComparePasswordAndHash(password, hash); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// benchServer is a server on a database with one store, whose owner can log in as often as
// wanted.
func benchServer(b *testing.B) (*Server, app.User) {
	db := persistencetest.New(b)
	_, stores, err := db.CreateWebsite(b.Context(), noon, persistence.NewWebsite{Name: "bench", Domain: "bench.test", Plan: app.PlanEnterprise}, newStores([]string{"bench"})...)
	must(err)
	hash, err := HashPassword(app.NewSecret(password))
	must(err)
	user := app.User{Email: "owner@bench.test", Name: "Owner"}
	user.ID, err = db.CreateUser(b.Context(), noon, persistence.NewUser{
		Email: user.Email, Name: user.Name, PasswordHash: hash, Roles: map[app.StoreID]app.Role{stores[0]: app.RoleOwner},
	})
	must(err)
	return New(Config{
		DB: db.DB, Keyring: persistencetest.Keyring(), Issuer: issuer, AccessTTL: 15 * time.Minute, RefreshTTL: time.Hour,
		RateLimit: 1000, RateWindow: time.Millisecond, Log: zerolog.New(io.Discard),
	}), user
}

// benchmark sends one request after the other to a handler behind TLS, over a connection
// that stays open.
func benchmark(b *testing.B, handler http.Handler, status int, method, path, token, body string) {
	server := httptest.NewTLSServer(handler)
	defer server.Close()
	client := server.Client()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), method, server.URL+path, strings.NewReader(body))
		must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		response, err := client.Do(r)
		must(err)
		_, err = io.Copy(io.Discard, response.Body)
		must(err)
		response.Body.Close()
		if response.StatusCode != status {
			b.Fatal(response.Status)
		}
	}
}
