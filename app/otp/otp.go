// Package otp computes one-time passwords (TOTP, RFC 6238) and recovery codes. It is a separate package because app
// depends on no library.
package otp

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"github.com/comanda-dev/comanda/app"
)

// Policy of one-time passwords (docs/behaviour.md#one-time-passwords).
const (
	// SetupTTL is the time in which the first code must confirm a setup.
	SetupTTL = 10 * time.Minute
	// Failures is the number of wrong or used codes of a user in FailureWindow, after which no code is accepted.
	Failures      = 20
	FailureWindow = time.Hour

	stepSeconds   = 30 // seconds
	tolerance     = 1  // steps in both directions
	recoveryCodes = 10
	recoveryBytes = 10 // 80 bits
)

// Key is the shared secret of a user and the user's authenticator.
type Key struct {
	Secret app.Secret // base32 without padding
	URL    app.Secret // otpauth:// URL with the secret, for a QR code
}

// NewKey returns a random key that an authenticator shows with the given issuer and account.
func NewKey(issuer, account string) (Key, error) {
	// The label of the URL separates the two by a colon.
	issuer, account = strings.ReplaceAll(issuer, ":", " "), strings.ReplaceAll(account, ":", " ")
	key, err := totp.Generate(totp.GenerateOpts{Issuer: issuer, AccountName: account, Period: stepSeconds})
	if err != nil {
		return Key{}, err
	}
	return Key{app.NewSecret(key.Secret()), app.NewSecret(key.URL())}, nil
}

// Issuer returns the name under which an authenticator shows the keys of an installation: Comanda and the host of
// its base URL.
func Issuer(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil || u.Hostname() == "" {
		return "Comanda"
	}
	return "Comanda " + u.Hostname()
}

// Code returns the code of the step that contains a time.
func Code(secret app.Secret, at time.Time) (string, error) {
	return codeOf(secret, at.Unix()/stepSeconds)
}

func codeOf(secret app.Secret, step int64) (string, error) {
	return hotp.GenerateCodeCustom(secret.Reveal(), uint64(step),
		hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1})
}

var codeForm = regexp.MustCompile(`^[0-9]{6}$`)

// IsCode reports whether text has the form of a code. Other texts can only be recovery codes.
func IsCode(text app.Secret) bool { return codeForm.MatchString(normalCode(text)) }

// Match returns the step of a code, at most one step away from now. It returns false if the code is wrong, or if
// its step is not after last, the step of the newest accepted code: each code is accepted once.
func Match(secret app.Secret, code app.Secret, now time.Time, last int64) (step int64, ok bool, err error) {
	current := now.Unix() / stepSeconds
	for candidate := current - tolerance; candidate <= current+tolerance; candidate++ {
		want, err := codeOf(secret, candidate)
		if err != nil {
			return 0, false, err
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(normalCode(code))) == 1 && candidate > last {
			return candidate, true, nil
		}
	}
	return 0, false, nil
}

var recoveryEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// NewRecoveryCodes returns random recovery codes such as "k3vd-x7qp-2m5a-ztw4".
func NewRecoveryCodes() []app.Secret {
	codes := make([]app.Secret, recoveryCodes)
	for i := range codes {
		random := make([]byte, recoveryBytes)
		rand.Read(random)
		text := strings.ToLower(recoveryEncoding.EncodeToString(random))
		codes[i] = app.NewSecret(strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-"))
	}
	return codes
}

// RecoveryCode returns the form of a recovery code that is hashed. Case, spaces and hyphens do not matter.
func RecoveryCode(code app.Secret) app.Secret { return app.NewSecret(normalCode(code)) }

// normalCode removes the characters that people add to codes.
func normalCode(code app.Secret) string {
	return strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(code.Reveal()))
}
