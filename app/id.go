package app

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// Identifiers are opaque to clients. An identifier is a prefix for its type, an underscore and the hex digits of a
// UUIDv7, so that identifiers of one type sort by creation time.
type (
	WebsiteID       string
	StoreID         string
	StoreViewID     string
	UserID          string
	SessionID       string
	InvitationID    string
	APIKeyID        string
	CustomerID      string
	ProductID       string
	OptionGroupID   string
	OptionID        string
	OrderID         string
	OrderItemID     string
	EventID         string
	SubscriptionID  string
	DeliveryID      string
	AttemptID       string
	RequestID       string
	JobID           string
	AuditID         string
	ReservationID   string
	MailID          string
	PasswordResetID string
	EmailChangeID   string
	ReplayID        string
	PaymentID       string
	RefundID        string
	AddressID       string
	LoyaltyEntryID  string
	BurstID         string
)

func (WebsiteID) prefix() string       { return "web" }
func (StoreID) prefix() string         { return "sto" }
func (StoreViewID) prefix() string     { return "view" }
func (UserID) prefix() string          { return "usr" }
func (SessionID) prefix() string       { return "ses" }
func (InvitationID) prefix() string    { return "inv" }
func (APIKeyID) prefix() string        { return "key" }
func (CustomerID) prefix() string      { return "cus" }
func (ProductID) prefix() string       { return "prd" }
func (OptionGroupID) prefix() string   { return "opg" }
func (OptionID) prefix() string        { return "opt" }
func (OrderID) prefix() string         { return "ord" }
func (OrderItemID) prefix() string     { return "itm" }
func (EventID) prefix() string         { return "evt" }
func (SubscriptionID) prefix() string  { return "whk" }
func (DeliveryID) prefix() string      { return "dlv" }
func (AttemptID) prefix() string       { return "att" }
func (RequestID) prefix() string       { return "req" }
func (JobID) prefix() string           { return "job" }
func (ReservationID) prefix() string   { return "res" }
func (AuditID) prefix() string         { return "aud" }
func (MailID) prefix() string          { return "mail" }
func (PasswordResetID) prefix() string { return "pwr" }
func (EmailChangeID) prefix() string   { return "emc" }
func (ReplayID) prefix() string        { return "rpl" }
func (PaymentID) prefix() string       { return "pay" }
func (RefundID) prefix() string        { return "ref" }
func (AddressID) prefix() string       { return "adr" }
func (LoyaltyEntryID) prefix() string  { return "loy" }
func (BurstID) prefix() string         { return "bst" }

// ID is the constraint of all identifier types of this package.
type ID interface {
	~string
	prefix() string
}

// NewID creates an identifier that sorts by now with a resolution of a quarter of a microsecond. Its random bits come
// from crypto/rand.
func NewID[T ID](now time.Time) T {
	var u [16]byte
	rand.Read(u[:])
	// RFC 9562 §6.2, method 3: the twelve bits after the milliseconds hold the fraction of the millisecond, so that
	// ids made in one millisecond keep their order.
	fraction := uint64(now.Nanosecond()%int(time.Millisecond)) << 12 / uint64(time.Millisecond)
	binary.BigEndian.PutUint64(u[:8], uint64(now.UnixMilli())<<16|7<<12|fraction)
	u[8] = u[8]&0x3f | 0x80
	var zero T
	return T(zero.prefix() + "_" + hex.EncodeToString(u[:]))
}

// FirstID returns a bound between identifiers: it sorts after all identifiers created before the millisecond of at, and
// before all created in it or later. It is not an identifier.
func FirstID[T ID](at time.Time) T {
	ms := min(max(at.UnixMilli(), 0), 1<<48-1)
	var zero T
	return T(fmt.Sprintf("%s_%012x", zero.prefix(), ms))
}

// IsID reports whether s has the form of an identifier: 1 to 64 letters, digits, underscores and hyphens.
func IsID(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}
