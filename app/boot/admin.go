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
)

// Limits of the members of [PlatformAdmin], in bytes.
const (
	maxEmail = 254
	maxName  = 200
)

// PlatformAdmin is the input for creating a platform administrator.
type PlatformAdmin struct {
	Email    string
	Name     string
	Password app.Secret
}

// check returns an error about the first invalid member.
func (a PlatformAdmin) check() error {
	address, err := mail.ParseAddress(a.Email)
	password := a.Password.Reveal()
	switch {
	case err != nil || address.Address != a.Email || len(a.Email) > maxEmail:
		return errors.New("--email: must be an email address")
	case strings.TrimSpace(a.Name) == "" || len(a.Name) > maxName:
		return fmt.Errorf("--name: must have 1 to %d bytes", maxName)
	case !utf8.ValidString(password) || strings.ContainsAny(password, "\x00\r\n"):
		return errors.New("the password must be a single line of UTF-8")
	}
	if fault := app.PasswordFault(a.Password, a.Email, a.Name); fault != "" {
		return errors.New("the password " + fault)
	}
	return nil
}

// CreatePlatformAdmin creates a platform administrator. It connects with the login roles of the service, see
// [openForAdmin]. The API cannot create the first administrator, because a caller would have to be authenticated
// already. CreatePlatformAdmin returns CONFLICT if the email is taken.
func CreatePlatformAdmin(
	ctx context.Context, environ map[string]string, now time.Time, admin PlatformAdmin,
) (app.UserID, error) {
	if err := admin.check(); err != nil {
		return "", err
	}
	db, err := openForAdmin(ctx, environ, app.Sealer{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	hash, err := api.HashPassword(admin.Password)
	if err != nil {
		return "", err
	}
	return db.CreatePlatformAdmin(ctx, now, app.Actor{}, admin.Email, admin.Name, hash)
}
