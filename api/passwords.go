package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"runtime"

	"github.com/alexedwards/argon2id"
	"golang.org/x/crypto/argon2"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of passwords.
var (
	changePassword         = handle("changePassword", (*Server).changePassword, app.CodeInvalidCredentials)
	changeCustomerPassword = handle("changeCustomerPassword", (*Server).changeCustomerPassword,
		app.CodeInvalidCredentials)
)

// hashing are the parameters of new password hashes (docs/behaviour.md#passwords). Existing hashes contain their own.
var hashing = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// HashPassword returns the hash of a password for users.password_hash.
func HashPassword(password app.Secret) (string, error) {
	return argon2id.CreateHash(password.Reveal(), &hashing)
}

// passwords hashes and checks passwords.
type passwords struct {
	*hashSlots
	params argon2id.Params // of new hashes
	dummy  string          // a hash of no password
	runs   func()          // called for each hash; tests count them
}

// newPasswords returns the hasher of a process with a limit of its memory in bytes; 0 = unlimited. Concurrent hashes
// take at most a quarter of the memory, and a processor each.
func newPasswords(memory uint64) *passwords {
	slots := runtime.GOMAXPROCS(0)
	if each := uint64(hashing.Memory) << 10; memory > 0 && memory/4/each < uint64(slots) { //nolint:gosec // positive
		slots = max(int(memory/4/each), 1) //nolint:gosec // less than GOMAXPROCS
	}
	p := &passwords{hashSlots: newHashSlots(slots), runs: func() {}}
	p.use(hashing)
	return p
}

// use sets the parameters of new hashes.
func (p *passwords) use(params argon2id.Params) {
	random := make([]byte, params.SaltLength+params.KeyLength)
	rand.Read(random)
	p.params = params
	p.dummy = encodeHash(params, random[:params.SaltLength], random[params.SaltLength:])
}

// encodeHash returns a hash in the form of [argon2id.CreateHash].
func encodeHash(params argon2id.Params, salt, key []byte) string {
	encoded := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, params.Memory, params.Iterations,
		params.Parallelism, encoded(salt), encoded(key))
}

// check reports whether a password matches a hash. It runs Argon2id exactly once, also for an invalid hash
// ("" for an unknown user). If the password is correct and the hash has weaker parameters than new hashes,
// fresh is a new hash, otherwise "". It returns the errors of inSlot.
func (p *passwords) check(
	ctx context.Context, c *call, password app.Secret, hash string,
) (ok bool, fresh string, err error) {
	if _, _, _, err := argon2id.DecodeHash(hash); err != nil {
		hash = p.dummy
	}
	err = p.inSlot(ctx, c, func() (err error) {
		p.runs()
		var params *argon2id.Params
		ok, params, err = argon2id.CheckHash(password.Reveal(), hash)
		if ok && (params.Memory < p.params.Memory || params.Iterations < p.params.Iterations ||
			params.KeyLength < p.params.KeyLength) {
			fresh, err = argon2id.CreateHash(password.Reveal(), &p.params)
		}
		return err
	})
	return ok, fresh, err
}

// inSlot calls f in a slot to hash of the website of a request. The request holds no places of work in progress
// meanwhile. It returns UNAVAILABLE if no slot, or afterwards no place, is free in time.
func (p *passwords) inSlot(ctx context.Context, c *call, f func() error) error {
	return c.places.without(ctx, func() error {
		leave, err := p.enter(ctx, c.websiteID())
		if err != nil {
			return err
		}
		defer leave()
		return f()
	})
}

// hash returns the hash of a new password. It returns the errors of inSlot.
func (p *passwords) hash(ctx context.Context, c *call, password app.Secret) (hash string, err error) {
	err = p.inSlot(ctx, c, func() (err error) {
		p.runs()
		hash, err = argon2id.CreateHash(password.Reveal(), &p.params)
		return err
	})
	return hash, err
}

// checkPassword checks a new password. member is its name in the request, words are those of app.PasswordFault. It
// returns VALIDATION_FAILED about the member.
func checkPassword(member string, password app.Secret, words ...string) error {
	if fault := app.PasswordFault(password, words...); fault != "" {
		return app.Invalid(member, fault)
	}
	return nil
}

// confirmPassword checks the current password of the logged-in user, for operations that a stolen session must
// not be able to perform. The check counts against the account's budget before the hash is computed. A wrong
// password is recorded in the audit trail and returns INVALID_CREDENTIALS.
func (s *Server) confirmPassword(ctx context.Context, c *call, password app.Secret) (identity.Login, error) {
	login, err := s.db.LoginOf(ctx, c.principal.UserID)
	if err != nil {
		return login, err
	}
	if err := s.limitAccount(ctx, c, app.NormalEmail(login.User.Email)); err != nil {
		return login, err
	}
	ok, _, err := s.passwords.check(ctx, c, password, login.PasswordHash)
	if err != nil {
		return login, err
	}
	if !ok {
		s.loginFailed(c, login.User, app.FaultPassword)
		return login, passwordIncorrect()
	}
	return login, nil
}

// confirmCustomerPassword is confirmPassword for a customer. An account without a password has no correct one.
func (s *Server) confirmCustomerPassword(
	ctx context.Context, c *call, password app.Secret,
) (identity.CustomerLogin, error) {
	login, err := s.db.CustomerLoginOf(ctx, c.principal.StoreID, c.principal.CustomerID)
	if err != nil {
		return login, err
	}
	if err := s.limitAccount(ctx, c, string(c.principal.StoreID), app.NormalEmail(login.Customer.Email)); err != nil {
		return login, err
	}
	ok, _, err := s.passwords.check(ctx, c, password, login.PasswordHash)
	if err != nil {
		return login, err
	}
	if !ok {
		s.customerLoginFailed(c, c.principal.StoreID, login.Customer.ID, app.FaultPassword)
		return login, passwordIncorrect()
	}
	return login, nil
}

func passwordIncorrect() error {
	return app.Errorf(app.CodeInvalidCredentials, "the current password is incorrect")
}

type changePasswordIn struct {
	CurrentPassword app.Secret `json:"currentPassword" validate:"required,password"`
	NewPassword     app.Secret `json:"newPassword" validate:"required,newpassword"`
}

type messageOut struct {
	Message string `json:"message"`
}

// changePassword replaces the password of the logged-in user and ends the user's other sessions.
func (s *Server) changePassword(ctx context.Context, c *call, in changePasswordIn) (messageOut, error) {
	words, err := s.db.UserWords(ctx, c.principal.UserID)
	if err != nil {
		return messageOut{}, err
	}
	if fault := app.PasswordFault(in.NewPassword, words...); fault != "" {
		return messageOut{}, app.Invalid("newPassword", fault)
	}
	login, err := s.confirmPassword(ctx, c, in.CurrentPassword)
	if err != nil {
		return messageOut{}, err
	}
	hash, err := s.passwords.hash(ctx, c, in.NewPassword)
	if err != nil {
		return messageOut{}, err
	}
	err = s.db.ChangePassword(ctx, c.now, c.principal, c.actor(), login.PasswordHash, hash)
	return messageOut{passwordChanged}, err
}

const passwordChanged = "the password has been changed; all other sessions have ended"

// changeCustomerPassword is changePassword for a customer.
func (s *Server) changeCustomerPassword(ctx context.Context, c *call, in changePasswordIn) (messageOut, error) {
	login, err := s.db.CustomerLoginOf(ctx, c.principal.StoreID, c.principal.CustomerID)
	if err != nil {
		return messageOut{}, err
	}
	words, err := s.db.StoreWords(ctx, c.principal.StoreID)
	if err != nil {
		return messageOut{}, err
	}
	customer := login.Customer
	words = append(words, customer.Email, customer.FirstName, customer.LastName)
	if fault := app.PasswordFault(in.NewPassword, words...); fault != "" {
		return messageOut{}, app.Invalid("newPassword", fault)
	}
	if login, err = s.confirmCustomerPassword(ctx, c, in.CurrentPassword); err != nil {
		return messageOut{}, err
	}
	hash, err := s.passwords.hash(ctx, c, in.NewPassword)
	if err != nil {
		return messageOut{}, err
	}
	err = s.db.ChangeCustomerPassword(ctx, c.now, c.principal, c.actor(), login.PasswordHash, hash)
	return messageOut{passwordChanged}, err
}
