package app

import "strings"

// Customer is a guest of one store: registered with a password or a social login, or
// remembered from a guest checkout. The two kinds never share a row (contract §5).
type Customer struct {
	ID            CustomerID   `json:"id"`
	Email         string       `json:"email"`
	FirstName     string       `json:"firstName"`
	LastName      string       `json:"lastName"`
	Phone         string       `json:"phone"`         // E.164 with a leading +, or ""
	LoyaltyPoints int64        `json:"loyaltyPoints"` // the sum of the ledger
	TotalOrders   int64        `json:"totalOrders"`   // those not cancelled
	StoreID       StoreID      `json:"storeId"`
	Kind          CustomerKind `json:"kind"`
	Version       int64        `json:"version"` // of the profile and the addresses
	CreatedAt     Time         `json:"createdAt"`
	UpdatedAt     Time         `json:"updatedAt"` // when the profile or an address last changed
}

// CustomerKind tells those with an account from those who only left their name.
type CustomerKind string

const (
	CustomerRegistered CustomerKind = "registered"
	CustomerGuest      CustomerKind = "guest"
)

// Changes returns the names of the members in which another state of the customer differs,
// those left out that differ after every change.
func (c Customer) Changes(other Customer) []string {
	other.Version, other.UpdatedAt = c.Version, c.UpdatedAt
	return changedMembers(c, other)
}

// CustomerUpdated is the data of customer.updated (contract §5).
type CustomerUpdated struct {
	Customer
	UpdatedFields []string `json:"updatedFields"` // by their names in the customer; "addresses" for a change among those
}

// CustomerFilter narrows a list of customers; zero values narrow nothing.
type CustomerFilter struct {
	Kind         CustomerKind
	UpdatedSince *Time
	Query        string // the beginning of the name, the last name, the e-mail address or the phone number, in any case
}

// MaxAddresses is how many addresses a customer may keep.
const MaxAddresses = 50

// Address is where a customer wants orders delivered. One of a customer's is the default.
type Address struct {
	ID    AddressID `json:"id"`
	Label string    `json:"label,omitempty"` // what the customer calls it
	DeliveryAddress
	IsDefault bool  `json:"isDefault"`
	Version   int64 `json:"version"`
	CreatedAt Time  `json:"createdAt"`
	UpdatedAt Time  `json:"updatedAt"`
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
