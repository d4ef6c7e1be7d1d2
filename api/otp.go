package api

import (
	"context"
	"crypto/rand"
	"errors"

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
	hashes, err := s.passwords.hashRecoveryCodes(ctx, c, codes)
	if err != nil {
		return recoveryCodesOut{}, err
	}
	err = s.db.ConfirmOTP(ctx, c.now, c.actor(), c.principal, in.Code, hashes)
	return showRecoveryCodes(codes), err
}

// replaceRecoveryCodes replaces the recovery codes. While one-time passwords are off, only the password is hashed.
func (s *Server) replaceRecoveryCodes(ctx context.Context, c *call, in currentPasswordIn) (recoveryCodesOut, error) {
	if _, err := s.confirmPassword(ctx, c, in.Password); err != nil {
		return recoveryCodesOut{}, err
	}
	if err := s.db.CheckOTP(ctx, c.principal); err != nil {
		return recoveryCodesOut{}, err
	}
	codes := otp.NewRecoveryCodes()
	hashes, err := s.passwords.hashRecoveryCodes(ctx, c, codes)
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

// otpFailed reports whether an error is a wrong or used one-time password, and records it as a failed login.
func (s *Server) otpFailed(c *call, user app.User, err error) bool {
	_, refused := errors.AsType[identity.OTPRefused](err)
	if !refused || app.CodeOf(err) != app.CodeInvalidCredentials {
		return false
	}
	s.loginFailed(c, user, app.FaultOTP)
	return true
}

// proof returns the proof of a user whose password matched a hash. The hash of a recovery code takes a slot.
func (s *Server) proof(
	ctx context.Context, c *call, user app.UserID, verified string, code app.Secret,
) (identity.Proof, error) {
	failures := s.limiter.budget(1, "otp", string(user))
	failures.Most = otp.Failures
	recovery, err := s.recoveryHash(ctx, c, user, code, failures)
	return identity.Proof{
		Verified: verified, OTP: identity.OTPUse{Code: code, Recovery: recovery, Failures: failures},
	}, err
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
	return s.passwords.hashLike(ctx, c, like, otp.RecoveryCode(code))
}

// hashRecoveryCodes returns the hashes of a user's recovery codes. They have one salt, so that a login computes one
// hash to find the code among them.
func (p *passwords) hashRecoveryCodes(ctx context.Context, c *call, codes []app.Secret) ([]string, error) {
	salt := make([]byte, p.params.SaltLength)
	rand.Read(salt)
	like := encodeHash(p.params, salt, make([]byte, p.params.KeyLength))
	secrets := make([]app.Secret, len(codes))
	for i, code := range codes {
		secrets[i] = otp.RecoveryCode(code)
	}
	return p.hashesLike(ctx, c, like, secrets...)
}

// hashLike returns the hash of a secret, see [passwords.hashesLike].
func (p *passwords) hashLike(ctx context.Context, c *call, like string, secret app.Secret) (string, error) {
	hashes, err := p.hashesLike(ctx, c, like, secret)
	if err != nil {
		return "", err
	}
	return hashes[0], nil
}

// hashesLike returns the hashes of secrets, with the salt and the parameters of another hash, in one slot. It returns
// the errors of inSlot.
func (p *passwords) hashesLike(ctx context.Context, c *call, like string, secrets ...app.Secret) ([]string, error) {
	params, salt, _, err := argon2id.DecodeHash(like)
	if err != nil {
		return nil, err
	}
	hashes := make([]string, len(secrets))
	return hashes, p.inSlot(ctx, c, func() error {
		for i, secret := range secrets {
			p.runs()
			key := argon2.IDKey([]byte(secret.Reveal()), salt, params.Iterations, params.Memory, params.Parallelism,
				params.KeyLength)
			hashes[i] = encodeHash(*params, salt, key)
		}
		return nil
	})
}
