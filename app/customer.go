package app

import "strings"

// Customer is a guest of one store: registered with a password or a social login, or
// remembered from a guest checkout. The two kinds never share a row (contract §5).
type Customer struct {
	ID            CustomerID `json:"id"`
	Email         string     `json:"email"`
	FirstName     string     `json:"firstName"`
	LastName      string     `json:"lastName"`
	Phone         string     `json:"phone"` // E.164 with a leading +, or ""
	LoyaltyPoints int64      `json:"loyaltyPoints"`
	TotalOrders   int64      `json:"totalOrders"`
}

// Provider is where customers can log in without a password of ours.
type Provider string

const (
	ProviderGoogle   Provider = "google"
	ProviderApple    Provider = "apple"
	ProviderFacebook Provider = "facebook"
)

// Providers lists the providers (spec, POST /customer-auth/social).
var Providers = [...]Provider{ProviderGoogle, ProviderApple, ProviderFacebook}

// SocialIdentity is somebody as a provider knows them. Provider and Subject identify, the
// rest is what was said at the time.
type SocialIdentity struct {
	Provider  Provider
	Subject   string
	Email     string // "" = not told
	Proven    bool   // the provider vouches that the address is theirs
	FirstName string
	LastName  string
}

// Vouches reports whether a provider's word proves that an e-mail address is somebody's:
// it has verified it, and Google only where it also hosts the mailbox (gmail.com, or the
// domain of an organization); an address elsewhere may have changed hands since.
func (p Provider) Vouches(email string, verified bool, hostedDomain string) bool {
	if p == ProviderGoogle && hostedDomain == "" && !strings.HasSuffix(strings.ToLower(email), "@gmail.com") {
		return false
	}
	return verified && email != ""
}
