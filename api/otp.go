package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
)

// Operations of one-time passwords.
var (
	setUpOTP = handle("setUpOTP", (*Server).beginOTP, app.CodeInvalidCredentials, app.CodeConflict,
		app.CodeRateLimited)
	confirmOTP           = handle("confirmOTP", (*Server).confirmOTP, app.CodeConflict)
	replaceRecoveryCodes = handle("replaceRecoveryCodes", (*Server).replaceRecoveryCodes, app.CodeInvalidCredentials,
		app.CodeConflict)
	disableOTP = handle("disableOTP", (*Server).disableOTP, app.CodeInvalidCredentials, app.CodeNotFound)
)

type currentPasswordIn struct {
	Password app.Secret `json:"password" validate:"required,password"`
}

// ForceRequestBody makes the OpenAPI document show the body also of a DELETE, which its generator omits otherwise.
func (currentPasswordIn) ForceRequestBody() {}

type setUpOTPOut struct {
	Secret     string `json:"secret"`
	OTPAuthURL string `json:"otpauthUrl"`
}

// beginOTP returns a secret that is pending until a code confirms it.
func (s *Server) beginOTP(ctx context.Context, c *call, in currentPasswordIn) (setUpOTPOut, error) {
	login, err := s.confirmPassword(ctx, c, in.Password)
	if err != nil {
		return setUpOTPOut{}, err
	}
	key, err := otp.NewKey(otp.Issuer(s.tokens.issuer), login.User.Email)
	if err != nil {
		return setUpOTPOut{}, err
	}
	err = s.db.BeginOTP(ctx, c.now, c.principal, key.Secret)
	return setUpOTPOut{key.Secret.Reveal(), key.URL.Reveal()}, err
}

type confirmOTPIn struct {
	Code app.Secret `json:"code" validate:"required,max=20"`
}

type recoveryCodesOut struct {
	RecoveryCodes []string `json:"recoveryCodes"`
}

func showRecoveryCodes(codes []app.Secret) recoveryCodesOut {
	out := recoveryCodesOut{make([]string, len(codes))}
	for i, code := range codes {
		out.RecoveryCodes[i] = code.Reveal()
	}
	return out
}

// confirmOTP switches one-time passwords on.
func (s *Server) confirmOTP(ctx context.Context, c *call, in confirmOTPIn) (recoveryCodesOut, error) {
	codes := otp.NewRecoveryCodes()
	err := s.db.ConfirmOTP(ctx, c.now, c.actor(), c.principal, in.Code, codes)
	return showRecoveryCodes(codes), err
}

func (s *Server) replaceRecoveryCodes(ctx context.Context, c *call, in currentPasswordIn) (recoveryCodesOut, error) {
	if _, err := s.confirmPassword(ctx, c, in.Password); err != nil {
		return recoveryCodesOut{}, err
	}
	codes := otp.NewRecoveryCodes()
	err := s.db.ReplaceRecoveryCodes(ctx, c.now, c.actor(), c.principal, codes)
	return showRecoveryCodes(codes), err
}

func (s *Server) disableOTP(ctx context.Context, c *call, in currentPasswordIn) (nothing, error) {
	if _, err := s.confirmPassword(ctx, c, in.Password); err != nil {
		return nothing{}, err
	}
	return nothing{}, s.db.DisableOTP(ctx, c.now, c.actor(), c.principal)
}

// checkOTP checks and uses up the one-time password of a user whose password is right. It returns OTP_REQUIRED,
// INVALID_CREDENTIALS or RATE_LIMITED. A wrong or used code is recorded as a failed login.
func (s *Server) checkOTP(ctx context.Context, c *call, user app.User, code app.Secret) error {
	failures := s.limiter.budget(1, "otp", string(user.ID))
	failures.Most = otp.Failures
	err := s.db.UseOTP(ctx, c.now, c.actor(), user, code, failures)
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		s.loginFailed(c, user, app.FaultOTP)
	}
	return err
}
