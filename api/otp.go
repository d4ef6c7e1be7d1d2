package api

import (
	"context"
	"crypto/rand"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
	"github.com/comanda-dev/comanda/persistence/identity"
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

// confirmOTP switches one-time passwords on. A wrong code costs no hash.
func (s *Server) confirmOTP(ctx context.Context, c *call, in confirmOTPIn) (recoveryCodesOut, error) {
	if err := s.db.CheckOTPSetup(ctx, c.now, c.principal, in.Code); err != nil {
		return recoveryCodesOut{}, err
	}
	codes := otp.NewRecoveryCodes()
	hashes, err := s.passwords.hashRecoveryCodes(ctx, c.principal.WebsiteID, codes)
	if err != nil {
		return recoveryCodesOut{}, err
	}
	err = s.db.ConfirmOTP(ctx, c.now, c.actor(), c.principal, in.Code, hashes)
	return showRecoveryCodes(codes), err
}

func (s *Server) replaceRecoveryCodes(ctx context.Context, c *call, in currentPasswordIn) (recoveryCodesOut, error) {
	if _, err := s.confirmPassword(ctx, c, in.Password); err != nil {
		return recoveryCodesOut{}, err
	}
	codes := otp.NewRecoveryCodes()
	hashes, err := s.passwords.hashRecoveryCodes(ctx, c.principal.WebsiteID, codes)
	if err != nil {
		return recoveryCodesOut{}, err
	}
	err = s.db.ReplaceRecoveryCodes(ctx, c.now, c.actor(), c.principal, hashes)
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
	recovery, err := s.recoveryHash(ctx, c, user.ID, code, failures)
	if err != nil {
		return err
	}
	err = s.db.UseOTP(ctx, c.now, c.actor(), user, code, recovery, failures)
	if app.CodeOf(err) == app.CodeInvalidCredentials {
		s.loginFailed(c, user, app.FaultOTP)
	}
	return err
}

// recoveryHash returns the hash of a recovery code that a user gives, "" for a code of an authenticator and for a user
// without recovery codes. It returns RATE_LIMITED if the budget of failures is used up.
func (s *Server) recoveryHash(
	ctx context.Context, c *call, user app.UserID, code app.Secret, failures identity.Budget,
) (string, error) {
	if code.Len() == 0 || otp.IsCode(code) {
		return "", nil
	}
	like, err := s.db.RecoveryHash(ctx, user, failures)
	if err != nil || like == "" {
		return "", err
	}
	return s.passwords.hashLike(ctx, c.principal.WebsiteID, otp.RecoveryCode(code), like)
}

// hashRecoveryCodes returns the hashes of a user's recovery codes. They have one salt, so that a login computes one
// hash to find the code among them.
func (p *passwords) hashRecoveryCodes(
	ctx context.Context, website app.WebsiteID, codes []app.Secret,
) ([]string, error) {
	salt := make([]byte, p.params.SaltLength)
	rand.Read(salt)
	like := encodeHash(p.params, salt, make([]byte, p.params.KeyLength))
	hashes := make([]string, len(codes))
	for i, code := range codes { // other logins can take the slot in between
		var err error
		if hashes[i], err = p.hashLike(ctx, website, otp.RecoveryCode(code), like); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// hashLike returns the hash of a secret with the salt and the parameters of another hash. It returns UNAVAILABLE if no
// slot is free in time.
func (p *passwords) hashLike(
	ctx context.Context, website app.WebsiteID, secret app.Secret, like string,
) (string, error) {
	params, salt, _, err := argon2id.DecodeHash(like)
	if err != nil {
		return "", err
	}
	leave, err := p.enter(ctx, website)
	if err != nil {
		return "", err
	}
	defer leave()
	p.runs()
	key := argon2.IDKey([]byte(secret.Reveal()), salt, params.Iterations, params.Memory, params.Parallelism,
		params.KeyLength)
	return encodeHash(*params, salt, key), nil
}
