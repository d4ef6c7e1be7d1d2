package api

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of links that reset passwords.
var (
	requestPasswordReset         = handle("requestPasswordReset", (*Server).requestReset)
	resetPassword                = handle("resetPassword", (*Server).resetPassword, app.CodeTokenInvalid)
	requestCustomerPasswordReset = handle("requestCustomerPasswordReset", (*Server).requestCustomerReset)
	resetCustomerPassword        = handle("resetCustomerPassword", (*Server).resetCustomerPassword,
		app.CodeTokenInvalid)
)

const maxResetRequests = 64 // that are processed concurrently

// The pages to which the links of mails lead, for both realms.
var (
	//go:embed account/reset.html
	resetPage []byte
	//go:embed account/confirm-email.html
	confirmEmailPage []byte
	//go:embed account/account.js
	accountScript []byte
	//go:embed account/account.css
	accountStyle []byte
)

// accountPolicy restricts a page to its files and to requests of this origin.
const accountPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func accountPage(mediaType string, content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Security-Policy", accountPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Write(content)
	})
}

// NewResetToken returns a new token of a link that resets a password or confirms a new email. The prefix is
// app.UserResetPrefix or app.CustomerResetPrefix.
func NewResetToken(prefix string) app.Secret {
	random := make([]byte, 32)
	rand.Read(random)
	return app.NewSecret(prefix + base64.RawURLEncoding.EncodeToString(random))
}

type requestResetIn struct {
	Email string `json:"email" validate:"required,useremail"`
}

// requestReset enqueues a mail with a link. The account is looked up in the background: neither the response nor
// its duration depends on the account.
func (s *Server) requestReset(_ context.Context, c *call, in requestResetIn) (messageOut, error) {
	now, after := c.now, c.afterwards()
	var user app.UserID
	return s.inBackground(c, func(ctx context.Context) error {
		login, err := s.db.LoginByEmail(ctx, in.Email)
		user = login.User.ID
		return err
	}, func(ctx context.Context) error {
		return s.limitResets(ctx, after, string(user))
	}, func(ctx context.Context) error {
		return s.db.MailReset(ctx, now, user, NewResetToken(app.UserResetPrefix))
	})
}

type requestCustomerResetIn struct {
	StoreID app.StoreID `json:"storeId" validate:"required,id" store:"any"`
	Email   string      `json:"email" validate:"required,useremail"`
}

// requestCustomerReset is requestReset for a customer.
func (s *Server) requestCustomerReset(_ context.Context, c *call, in requestCustomerResetIn) (messageOut, error) {
	if err := c.checkPage(); err != nil {
		return messageOut{}, err
	}
	now, after := c.now, c.afterwards()
	var customer app.CustomerID
	return s.inBackground(c, func(ctx context.Context) error {
		login, err := s.db.CustomerLoginByEmail(ctx, in.StoreID, in.Email)
		customer = login.Customer.ID
		return err
	}, func(ctx context.Context) error {
		return s.limitResets(ctx, after, string(customer))
	}, func(ctx context.Context) error {
		return s.db.MailCustomerReset(ctx, now, in.StoreID, customer, NewResetToken(app.CustomerResetPrefix))
	})
}

// limitResets counts a mail to an account, RATE_LIMITED if the account got all its mails of an hour.
func (s *Server) limitResets(ctx context.Context, c *call, account string) error {
	return s.takeLimits(ctx, c, time.Hour,
		s.limiter.exactly(app.PasswordResetsPerHour, "password reset", account))
}

// inBackground runs the steps that enqueue a mail, and returns the response of every request, UNAVAILABLE if too many
// requests are being processed. Requests that name no website belong to the network of their client. If the process is
// killed, no mail is sent, and the user requests another one.
func (s *Server) inBackground(c *call, steps ...func(context.Context) error) (messageOut, error) {
	log, after := c.exchange.log, c.afterwards()
	started := !s.db.Mails() || s.resets.run(c.owner(), func(ctx context.Context) {
		err := s.work.runAfterwards(ctx, after, steps...)
		switch app.CodeOf(err) {
		case "", app.CodeNotFound, app.CodeRateLimited:
		default:
			log.Error().Err(err).Msg("mail with a link to reset a password not enqueued")
		}
	})
	if !started {
		return messageOut{}, app.Unavailable(time.Second)
	}
	return messageOut{"if the email belongs to an account, a link to reset the password is on its way"}, nil
}

type resetPasswordIn struct {
	Token    app.Secret `json:"token" validate:"required,linktoken"`
	Password app.Secret `json:"password" validate:"required,newpassword"`
}

// resetPassword replaces the password of the user to whom a token belongs.
func (s *Server) resetPassword(ctx context.Context, c *call, in resetPasswordIn) (messageOut, error) {
	return s.reset(ctx, c, in, (*persistence.DB).PendingReset, (*persistence.DB).ResetPassword)
}

// resetCustomerPassword is resetPassword for a customer.
func (s *Server) resetCustomerPassword(ctx context.Context, c *call, in resetPasswordIn) (messageOut, error) {
	return s.reset(ctx, c, in, (*persistence.DB).PendingCustomerReset, (*persistence.DB).ResetCustomerPassword)
}

func (s *Server) reset(
	ctx context.Context, c *call, in resetPasswordIn,
	pending func(*persistence.DB, context.Context, time.Time, app.Secret) (identity.Reset, error),
	replace func(*persistence.DB, context.Context, time.Time, app.Actor, app.Secret, string) error,
) (messageOut, error) {
	of, err := pending(s.db, ctx, c.now, in.Token)
	if err != nil {
		return messageOut{}, err
	}
	if err := checkPassword("password", in.Password, of.Words...); err != nil {
		return messageOut{}, err
	}
	hash, err := s.passwords.hash(ctx, c, in.Password)
	if err != nil {
		return messageOut{}, err
	}
	err = replace(s.db, ctx, c.now, c.actor(), in.Token, hash)
	return messageOut{"the password has been changed and all sessions have ended; log in with the new password"}, err
}
