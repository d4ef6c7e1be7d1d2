package app

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// MinKeyLength is the minimum length of a key of a [Keyring] in bytes.
const MinKeyLength = 32

// Keyring holds the secret keys of the installation. The first key signs and seals; all keys verify and open, so that a
// key can be replaced without downtime.
type Keyring struct{ keys []Secret }

// NewKeyring parses the value of COMANDA_SECRET_KEYS: comma-separated keys of at least MinKeyLength bytes each. It
// returns an error if a key is shorter.
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

// DerivedKey is a key for one purpose. Its ID identifies the key of the ring from which it was derived.
type DerivedKey struct {
	ID    string // eight hex digits; public
	Bytes []byte // 32 bytes; must not be shown
}

// Derive returns a key for a purpose from each key of the ring (HKDF-SHA256). The first one signs.
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
		panic(err) // impossible: HKDF fails only for lengths above 8,160 bytes
	}
	return b
}

// Sealer encrypts secrets that are stored in the database, with AES-256-GCM. A sealed secret is bound to its owner. It
// also hides texts behind MACs.
type Sealer struct{ keys, macs []DerivedKey }

// Sealer returns the sealer of the ring.
func (k Keyring) Sealer() Sealer { return Sealer{k.Derive("seal"), k.Derive("mac")} }

// KeyIDLength is the length of the ID of a key, with which each sealed secret begins.
const KeyIDLength = 8

// KeyIDs returns the IDs of the keys. The first one seals.
func (s Sealer) KeyIDs() []string {
	ids := make([]string, len(s.keys))
	for i, key := range s.keys {
		ids[i] = key.ID
	}
	return ids
}

// MAC returns a keyed hash, which hides the texts. It changes when the first key changes.
func (s Sealer) MAC(texts ...string) []byte {
	mac := hmac.New(sha256.New, s.macs[0].Bytes)
	for _, text := range texts {
		fmt.Fprintf(mac, "%d:%s", len(text), text)
	}
	return mac.Sum(nil)
}

// Seal encrypts a secret for owner, the id of its row. It cannot be opened for another owner. The result is the key's
// ID, the nonce and the ciphertext.
func (s Sealer) Seal(secret Secret, owner string) []byte {
	key := s.keys[0]
	aead := newAEAD(key)
	sealed := append([]byte(key.ID), make([]byte, aead.NonceSize())...)
	nonce := sealed[len(key.ID):]
	rand.Read(nonce)
	return aead.Seal(sealed, nonce, []byte(secret.Reveal()), []byte(owner))
}

// Open decrypts the result of Seal for the same owner. It returns an error if the ring no longer contains the key or if
// the bytes were modified.
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
		panic(err) // impossible: the key has 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // impossible: AES has the block size that GCM requires
	}
	return aead
}
