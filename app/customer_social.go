package app

import (
	"crypto/sha256"
	"strings"
	"time"
)

// Provider is an identity provider for the social login of customers.
type Provider string

const (
	ProviderGoogle   Provider = "google"
	ProviderApple    Provider = "apple"
	ProviderFacebook Provider = "facebook"
)

// Providers lists the providers.
var Providers = [...]Provider{ProviderGoogle, ProviderApple, ProviderFacebook}

// SocialIdentity is the content of a verified ID token. Provider and Subject identify the person; the other fields are
// a snapshot.
type SocialIdentity struct {
	Provider  Provider
	Subject   string
	Email     string // "" = not in the token
	Proven    bool   // the provider vouches that the email belongs to the person, see [Provider.ProvesEmail]
	FirstName string
	LastName  string
	Token     IDToken
}

// IDToken identifies the ID token of a social login, which is used up by a success (docs/behaviour.md#social-login).
type IDToken struct {
	Hash      [sha256.Size]byte // of the signed claims: the encoding of a token can be changed without its provider
	ExpiresAt time.Time
}

// ProvesEmail reports whether the provider proves that an email belongs to the person who logs in. The provider must
// have verified the address. Google must also host the mailbox (gmail.com, or the domain of an organization): it does
// not notice if another mailbox gets a new owner.
func (p Provider) ProvesEmail(email string, verified bool, hostedDomain string) bool {
	if p == ProviderGoogle && hostedDomain == "" && !strings.HasSuffix(strings.ToLower(email), "@gmail.com") {
		return false
	}
	return verified && email != ""
}
