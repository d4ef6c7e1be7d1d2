package app

// Customer is a customer of one store: a registered account (password or social login) or a guest remembered from a
// checkout. A guest and an account with the same email are separate customers (docs/behaviour.md#customers).
type Customer struct {
	ID            CustomerID   `json:"id"`
	Email         string       `json:"email"`
	FirstName     string       `json:"firstName"`
	LastName      string       `json:"lastName"`
	Phone         string       `json:"phone"`         // E.164 with a leading +, or ""
	LoyaltyPoints int64        `json:"loyaltyPoints"` // balance of the loyalty ledger
	TotalOrders   int64        `json:"totalOrders"`   // without cancelled orders
	StoreID       StoreID      `json:"storeId"`
	Kind          CustomerKind `json:"kind"`
	ExternalID    string       `json:"externalId,omitempty"`
	// Customers do not see it.
	Metadata  map[string]string `json:"metadata,omitzero"`
	Version   int64             `json:"version"` // increases with every change of the profile or the addresses
	CreatedAt Time              `json:"createdAt"`
	UpdatedAt Time              `json:"updatedAt"` // last change of the profile or an address
	ErasedAt  *Time             `json:"erasedAt,omitempty"`
	// Disabled reports that the account cannot be used. Events do not contain it, and customers do not see it.
	Disabled bool `json:"-"`
}

// Own returns the customer as the customer may see it: without the references of integrations.
func (c Customer) Own() Customer {
	c.ExternalID, c.Metadata = "", nil
	return c
}

// CustomerKind distinguishes registered accounts from guests.
type CustomerKind string

const (
	CustomerRegistered CustomerKind = "registered"
	CustomerGuest      CustomerKind = "guest"
)

// Changes returns the names of the members that differ in other. It ignores version and updatedAt, which change every
// time, and Disabled, which is no member.
func (c Customer) Changes(other Customer) []string {
	other.Version, other.UpdatedAt, other.Disabled = c.Version, c.UpdatedAt, c.Disabled
	return changedMembers(c, other)
}

// CustomerUpdated is the data of customer.updated (docs/behaviour.md#customers).
type CustomerUpdated struct {
	Customer
	UpdatedFields []string `json:"updatedFields"` // names of the changed members; "addresses" if an address changed
}

// FoundCustomer is the result of a lookup by phone number, for a new order.
type FoundCustomer struct {
	ID          CustomerID       `json:"id"`
	Name        string           `json:"name"`
	Phone       string           `json:"phone"`
	LastAddress *DeliveryAddress `json:"lastAddress,omitempty"` // of the newest delivery
	LastOrder   *FoundOrder      `json:"lastOrder,omitempty"`
}

// FoundOrder is the newest order of a FoundCustomer.
type FoundOrder struct {
	ID     OrderID     `json:"id"`
	Number string      `json:"orderId"`
	Items  []OrderItem `json:"items"`
}

// CustomerFilter narrows a list of customers. A zero value does not narrow it.
type CustomerFilter struct {
	Kind         CustomerKind
	UpdatedSince *Time
	ExternalID   string
	Query        string // prefix of the name, last name, email or phone number; case-insensitive
}
