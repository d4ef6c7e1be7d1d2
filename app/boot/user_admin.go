package boot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// userCommand changes the user with an email and returns the text to print. baseURL is COMANDA_BASE_URL.
type userCommand func(ctx context.Context, db *persistence.DB, now time.Time, baseURL, email string) (string, error)

// userCommands are the commands of `comanda admin` about a tenant user or a platform administrator. They take effect on
// the user's next request. The audit trail names no actor.
var userCommands = map[string]userCommand{
	"reset-password": func(
		ctx context.Context, db *persistence.DB, now time.Time, baseURL, email string,
	) (string, error) {
		if u, err := url.Parse(baseURL); err != nil || u.Scheme != "https" || u.Host == "" {
			return "", errors.New("COMANDA_BASE_URL: must be the https URL of the service, to which the link leads")
		}
		token := api.NewResetToken(app.UserResetPrefix)
		return app.PasswordResetLink(baseURL, token), db.CreateReset(ctx, now, app.Actor{}, email, token)
	},
	"disable-user": func(ctx context.Context, db *persistence.DB, now time.Time, _, email string) (string, error) {
		return "disabled " + email, db.DisableUser(ctx, now, app.Actor{}, email)
	},
	"enable-user": func(ctx context.Context, db *persistence.DB, now time.Time, _, email string) (string, error) {
		return "enabled " + email, db.EnableUser(ctx, now, app.Actor{}, email)
	},
	"end-sessions": func(ctx context.Context, db *persistence.DB, now time.Time, _, email string) (string, error) {
		n, err := db.EndSessions(ctx, now, app.Actor{}, email)
		return fmt.Sprintf("ended %d sessions of %s", n, email), err
	},
	"reset-otp": func(ctx context.Context, db *persistence.DB, now time.Time, _, email string) (string, error) {
		login, err := db.LoginByEmail(ctx, email)
		if err != nil {
			return "", err
		}
		err = db.ResetOTP(ctx, now, login.User.ID)
		if app.CodeOf(err) == app.CodeNotFound {
			return "", errors.New("this user has not switched on one-time passwords")
		}
		return "switched off the one-time passwords of " + email, err
	},
}

// UserCommands returns the names of the commands of [AdministerUser].
func UserCommands() []string { return slices.Sorted(maps.Keys(userCommands)) }

// AdministerUser runs a command about the user with an email and returns the text to print. It connects with the login
// roles of the service. The environment contains those of [openForAdmin] and COMANDA_BASE_URL.
func AdministerUser(
	ctx context.Context, environ map[string]string, now time.Time, command, email string,
) (string, error) {
	if email == "" {
		return "", errors.New("--email: is required")
	}
	db, err := openForAdmin(ctx, environ, app.Sealer{})
	if err != nil {
		return "", err
	}
	defer db.Close()
	text, err := userCommands[command](ctx, db, now, environ["COMANDA_BASE_URL"], email)
	if app.CodeOf(err) == app.CodeNotFound {
		return "", fmt.Errorf("there is no user with the email %s", email)
	}
	if err != nil {
		return "", err
	}
	return text, nil
}

// openForAdmin opens a database whose schema and roles are those of the service. The environment contains DATABASE_URL
// and COMANDA_SYSTEM_DATABASE_URL.
func openForAdmin(ctx context.Context, environ map[string]string, sealer app.Sealer) (*persistence.DB, error) {
	url, systemURL := environ["DATABASE_URL"], environ["COMANDA_SYSTEM_DATABASE_URL"]
	if url == "" {
		return nil, errors.New("DATABASE_URL is required")
	}
	for _, variable := range []string{"DATABASE_URL", "COMANDA_SYSTEM_DATABASE_URL"} {
		if err := checkDecided(environ[variable]); err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
	}
	db, err := persistence.Open(persistence.Config{URL: url, SystemURL: systemURL, MaxConns: 1, Sealer: sealer})
	if err != nil {
		return nil, err
	}
	err = db.CheckRole(ctx)
	if err == nil {
		err = db.CheckSchema(ctx)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}
