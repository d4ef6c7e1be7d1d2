package boot

import (
	"context"
	"errors"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// ResetOTP switches off the one-time passwords of the user with an email, who has lost the device and the recovery
// codes. It records that in the audit trails. It returns an error if there is no such user, or if the user has not
// switched them on. The environment is that of [openForAdmin].
func ResetOTP(ctx context.Context, environ map[string]string, now time.Time, email string) error {
	if email == "" {
		return errors.New("--email is required")
	}
	db, err := openForAdmin(ctx, environ, app.Sealer{})
	if err != nil {
		return err
	}
	defer db.Close()
	login, err := db.LoginByEmail(ctx, email)
	if app.CodeOf(err) == app.CodeNotFound {
		return errors.New("there is no user with this email")
	}
	if err != nil {
		return err
	}
	err = db.ResetOTP(ctx, now, login.User.ID)
	if app.CodeOf(err) == app.CodeNotFound {
		return errors.New("this user has not switched on one-time passwords")
	}
	return err
}
