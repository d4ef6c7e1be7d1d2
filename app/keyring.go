package app

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// MinKeyLength is how short a key of a [Keyring] may be, in bytes.
const MinKeyLength = 32

// Keyring holds the installation's secret keys. The first makes new signatures and
// seals, all of them verify and open, so that a key can be replaced without an outage.
type Keyring struct{ keys []Secret }

// NewKeyring takes keys as COMANDA_SECRET_KEYS gives them: separated by commas, each at
// least MinKeyLength bytes long.
func NewKeyring(list Secret) (Keyring, error) {
	var ring Keyring
	for key := range strings.SplitSeq(list.Reveal(), ",") {
		if len(strings.TrimSpace(key)) < MinKeyLength {
			return Keyring{}, fmt.Errorf("each key must have at least %d bytes", MinKeyLength)
		}
		ring.keys = append(ring.keys, NewSecret(strings.TrimSpace(key)))
	}
	return ring, nil
}

// DerivedKey is a key for one purpose. Its ID tells which key of the ring it comes from
// and nothing else.
type DerivedKey struct {
	ID    string // eight hex digits
	Bytes []byte // 32 bytes; must not be shown
}

// Derive returns one key per key of the ring for a purpose (HKDF-SHA256), the one to
// sign with first.
func (k Keyring) Derive(purpose string) []DerivedKey {
	derived := make([]DerivedKey, len(k.keys))
	for i, key := range k.keys {
		derived[i] = DerivedKey{ID: hex.EncodeToString(expand(key, "key id", 4)), Bytes: expand(key, purpose, 32)}
	}
	return derived
}

func expand(key Secret, purpose string, length int) []byte {
	b, err := hkdf.Key(sha256.New, []byte(key.Reveal()), nil, "comanda "+purpose, length)
	if err != nil {
		panic(err) // only for lengths above 8,160 bytes
	}
	return b
}

// Sealer encrypts what must be kept but not read in the database: AES-256-GCM, bound to
// what it belongs to.
type Sealer struct{ keys []DerivedKey }

// Sealer returns the ring's sealer.
func (k Keyring) Sealer() Sealer { return Sealer{k.Derive("seal")} }

// Seal encrypts a secret for owner, the id of the row that it belongs to: moved to
// another row it cannot be opened. The result is key id, nonce, ciphertext.
func (s Sealer) Seal(secret Secret, owner string) []byte {
	key := s.keys[0]
	aead := newAEAD(key)
	sealed := append([]byte(key.ID), make([]byte, aead.NonceSize())...)
	nonce := sealed[len(key.ID):]
	rand.Read(nonce)
	return aead.Seal(sealed, nonce, []byte(secret.Reveal()), []byte(owner))
}

// Open decrypts what Seal made for the same owner. It fails when the key is no longer in
// the ring or a byte was changed.
func (s Sealer) Open(sealed []byte, owner string) (Secret, error) {
	for _, key := range s.keys {
		rest, ok := bytes.CutPrefix(sealed, []byte(key.ID))
		aead := newAEAD(key)
		if !ok || len(rest) < aead.NonceSize() {
			continue
		}
		plain, err := aead.Open(nil, rest[:aead.NonceSize()], rest[aead.NonceSize():], []byte(owner))
		return NewSecret(string(plain)), err
	}
	return Secret{}, errors.New("sealed with a key that is not in COMANDA_SECRET_KEYS")
}

func newAEAD(key DerivedKey) cipher.AEAD {
	block, err := aes.NewCipher(key.Bytes)
	if err != nil {
		panic(err) // only for keys of another length than 16, 24 or 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // never with AES
	}
	return aead
}
