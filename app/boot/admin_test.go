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

func TestCreatePlatformAdmin(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	id, err := CreatePlatformAdmin(t.Context(), db.URL, time.Now(), admin)
	if err != nil {
		t.Fatal(err)
	}
	login, err := db.LoginByEmail(t.Context(), admin.Email)
	if err != nil || login.User.ID != id || login.User.PlatformRole == nil || *login.User.PlatformRole != app.PlatformAdmin || login.User.Name != "Root" {
		t.Errorf("%+v, %v", login.User, err)
	}
	if !strings.HasPrefix(login.PasswordHash, "$argon2id$") || strings.Contains(login.PasswordHash, "horse") {
		t.Errorf("the hash: %s", login.PasswordHash)
	}
	again := admin
	again.Email = "ROOT@example.com"
	if _, err := CreatePlatformAdmin(t.Context(), db.URL, time.Now(), again); app.CodeOf(err) != app.CodeConflict {
		t.Errorf("twice: %v", err)
	}
	other := admin
	other.Email = "second@example.com"
	if _, err := CreatePlatformAdmin(t.Context(), db.OwnerURL, time.Now(), other); err == nil {
		t.Error("as the database's owner")
	}
}

func TestBadAdmins(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*PlatformAdmin){
		"no address":         func(a *PlatformAdmin) { a.Email = "" },
		"address and name":   func(a *PlatformAdmin) { a.Email = "Root <root@example.com>" },
		"long address":       func(a *PlatformAdmin) { a.Email = strings.Repeat("a", 250) + "@example.com" },
		"blank name":         func(a *PlatformAdmin) { a.Name = " " },
		"short password":     func(a *PlatformAdmin) { a.Password = app.NewSecret("1234567") },
		"long password":      func(a *PlatformAdmin) { a.Password = app.NewSecret(strings.Repeat("x", 1025)) },
		"two lines":          func(a *PlatformAdmin) { a.Password = app.NewSecret("correct\nhorse") },
		"not UTF-8":          func(a *PlatformAdmin) { a.Password = app.NewSecret("correct horse \xff") },
		"NUL":                func(a *PlatformAdmin) { a.Password = app.NewSecret("correct horse \x00") },
		"no database's name": func(*PlatformAdmin) {},
	} {
		bad := admin
		change(&bad)
		if _, err := CreatePlatformAdmin(t.Context(), "", time.Now(), bad); err == nil || strings.Contains(err.Error(), "horse") ||
			(name == "no database's name") != strings.Contains(err.Error(), "DATABASE_URL") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
