package boot

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var admin = PlatformAdmin{Email: "root@example.com", Name: "Root", Password: app.NewSecret(" correct horse ")}

// loginsOf returns the variables with the URLs of a database's logins.
func loginsOf(db *persistencetest.Database) map[string]string {
	return map[string]string{"DATABASE_URL": db.URL, "COMANDA_SYSTEM_DATABASE_URL": db.SystemURL}
}

func TestCreatePlatformAdmin(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	id, err := CreatePlatformAdmin(t.Context(), loginsOf(db), time.Now(), admin)
	if err != nil {
		t.Fatal(err)
	}
	login, err := db.LoginByEmail(t.Context(), admin.Email)
	if err != nil || login.User.ID != id || login.User.Name != "Root" ||
		login.User.PlatformRole == nil || *login.User.PlatformRole != app.PlatformAdmin {
		t.Errorf("user %+v, %v, want Root with id %s and role %s", login.User, err, id, app.PlatformAdmin)
	}
	if !strings.HasPrefix(login.PasswordHash, "$argon2id$") || strings.Contains(login.PasswordHash, "horse") {
		t.Errorf("password hash %s, want Argon2id", login.PasswordHash)
	}
	again := admin
	again.Email = "ROOT@example.com"
	_, err = CreatePlatformAdmin(t.Context(), loginsOf(db), time.Now(), again)
	if app.CodeOf(err) != app.CodeConflict {
		t.Errorf("same email in upper case: %v, want %s", err, app.CodeConflict)
	}
	other := admin
	other.Email = "second@example.com"
	owner := map[string]string{"DATABASE_URL": db.OwnerURL}
	if _, err := CreatePlatformAdmin(t.Context(), owner, time.Now(), other); err == nil {
		t.Error("CreatePlatformAdmin as the database's owner succeeded, want an error")
	}
}

func TestCreatePlatformAdminChecksInput(t *testing.T) {
	t.Parallel()
	const noDatabase = "no DATABASE_URL"
	for name, change := range map[string]func(*PlatformAdmin){
		"no email":            func(a *PlatformAdmin) { a.Email = "" },
		"email with name":     func(a *PlatformAdmin) { a.Email = "Root <root@example.com>" },
		"email too long":      func(a *PlatformAdmin) { a.Email = strings.Repeat("a", 250) + "@example.com" },
		"blank name":          func(a *PlatformAdmin) { a.Name = " " },
		"password too short":  func(a *PlatformAdmin) { a.Password = app.NewSecret("1234567") },
		"password too long":   func(a *PlatformAdmin) { a.Password = app.NewSecret(strings.Repeat("x", 1025)) },
		"password of 2 lines": func(a *PlatformAdmin) { a.Password = app.NewSecret("correct\nhorse") },
		"password not UTF-8":  func(a *PlatformAdmin) { a.Password = app.NewSecret("correct horse \xff") },
		"password with NUL":   func(a *PlatformAdmin) { a.Password = app.NewSecret("correct horse \x00") },
		noDatabase:            func(*PlatformAdmin) {},
	} {
		t.Run(name, func(t *testing.T) {
			invalid := admin
			change(&invalid)
			_, err := CreatePlatformAdmin(t.Context(), nil, time.Now(), invalid)
			if err == nil || strings.Contains(err.Error(), "horse") ||
				(name == noDatabase) != strings.Contains(err.Error(), "DATABASE_URL") {
				t.Errorf("%s: %v, want an error about that member, without the password", name, err)
			}
		})
	}
}
