package boot

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// Bounds of a password, in bytes (contract §3), and of what else describes a user.
const (
	minPassword = 8
	MaxPassword = 1024
	maxEmail    = 254
	maxName     = 200
)

// PlatformAdmin is somebody who runs the installation.
type PlatformAdmin struct {
	Email    string
	Name     string
	Password app.Secret
}

// check names what is wrong with an administrator to be.
func (a PlatformAdmin) check() error {
	address, err := mail.ParseAddress(a.Email)
	password := a.Password.Reveal()
	switch {
	case err != nil || address.Address != a.Email || len(a.Email) > maxEmail:
		return errors.New("--email: must be an e-mail address")
	case strings.TrimSpace(a.Name) == "" || len(a.Name) > maxName:
		return fmt.Errorf("--name: is required, with at most %d bytes", maxName)
	case len(password) < minPassword || len(password) > MaxPassword:
		return fmt.Errorf("the password must have %d to %d bytes", minPassword, MaxPassword)
	case !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\r\n"):
		return errors.New("the password must be one line of UTF-8")
	case api.IsCommonPassword(password):
		return errors.New("the password must not be one of the commonest")
	}
	return nil
}

// CreatePlatformAdmin makes a platform administrator, as the login role of the service.
// There is no other way to the first: nobody could have let the caller of an API in. An
// e-mail address that is in use is CONFLICT.
func CreatePlatformAdmin(ctx context.Context, databaseURL string, now time.Time, admin PlatformAdmin) (app.UserID, error) {
	if err := admin.check(); err != nil {
		return "", err
	}
	if databaseURL == "" {
		return "", errors.New("DATABASE_URL is required")
	}
	db, err := persistence.Open(persistence.Config{URL: databaseURL, MaxConns: 1})
	if err != nil {
		return "", fmt.Errorf("DATABASE_URL: %w", err)
	}
	defer db.Close()
	if err := errors.Join(db.CheckSchema(ctx), db.CheckRole(ctx)); err != nil {
		return "", err
	}
	hash, err := api.HashPassword(admin.Password)
	if err != nil {
		return "", err
	}
	role := app.PlatformAdmin
	return db.CreateUser(ctx, now, persistence.NewUser{Email: admin.Email, Name: admin.Name, PasswordHash: hash, PlatformRole: &role})
}
