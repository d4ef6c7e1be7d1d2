package api

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"

	"github.com/comanda-dev/comanda/app"
)

// hashing are the parameters of new password hashes (contract §3). Old hashes carry theirs.
var hashing = argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

const (
	minPassword = 8               // bytes, of a new one
	maxPassword = 1024            // bytes
	maxQueue    = 256             // logins that wait for their turn to hash
	maxWait     = 5 * time.Second // of one of them
)

// commonPasswords are the thousand that people choose most among those that are long
// enough, in lower case: from the lists of zxcvbn (Dropbox, MIT licence).
//
//go:embed common_passwords.txt
var commonPasswords string

var commonPasswordSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(commonPasswords) {
		set[strings.TrimSuffix(line, "\n")] = true
	}
	return set
})

// IsCommonPassword reports whether a password is one of those that are tried first, in any case.
func IsCommonPassword(password string) bool { return commonPasswordSet()[strings.ToLower(password)] }

// HashPassword makes what users.password_hash keeps.
func HashPassword(password app.Secret) (string, error) {
	return argon2id.CreateHash(password.Reveal(), &hashing)
}

// passwords checks passwords, no more at once than there are processors: each run takes
// 19 MiB and all of one.
type passwords struct {
	running chan struct{}
	waiting chan struct{}
	maxWait time.Duration
	dummy   string // a hash that no password has
	runs    func() // called for each run; a test counts them
}

func newPasswords() *passwords {
	random := make([]byte, hashing.SaltLength+hashing.KeyLength)
	rand.Read(random)
	encoded := base64.RawStdEncoding.EncodeToString
	return &passwords{
		running: make(chan struct{}, runtime.GOMAXPROCS(0)),
		waiting: make(chan struct{}, maxQueue),
		maxWait: maxWait,
		dummy: fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", hashing.Memory, hashing.Iterations, hashing.Parallelism,
			encoded(random[:hashing.SaltLength]), encoded(random[hashing.SaltLength:])),
		runs: func() {},
	}
}

// check reports whether the password has the hash. It runs Argon2id exactly once, for a
// hash that cannot be read ("" for a user who does not exist) as well. When the password is
// right and its hash is weaker than new ones, fresh is a new hash, else "". UNAVAILABLE when
// its turn does not come in time.
func (p *passwords) check(ctx context.Context, password app.Secret, hash string) (ok bool, fresh string, err error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return false, "", err
	}
	defer leave()
	if _, _, _, err := argon2id.DecodeHash(hash); err != nil {
		hash = p.dummy
	}
	p.runs()
	ok, params, err := argon2id.CheckHash(password.Reveal(), hash)
	if ok && (params.Memory < hashing.Memory || params.Iterations < hashing.Iterations || params.KeyLength < hashing.KeyLength) {
		fresh, err = HashPassword(password)
	}
	return ok, fresh, err
}

// hash makes a new password's hash when its turn comes; UNAVAILABLE when that does not come
// in time.
func (p *passwords) hash(ctx context.Context, password app.Secret) (string, error) {
	leave, err := p.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	p.runs()
	return HashPassword(password)
}

// enter waits for a turn to hash, and returns what ends it.
func (p *passwords) enter(ctx context.Context) (leave func(), err error) {
	select {
	case p.waiting <- struct{}{}:
		defer func() { <-p.waiting }()
	default:
		return nil, app.Unavailable(maxWait)
	}
	timeout := time.NewTimer(p.maxWait)
	defer timeout.Stop()
	select {
	case p.running <- struct{}{}:
		return func() { <-p.running }, nil
	case <-timeout.C:
		return nil, app.Unavailable(maxWait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
