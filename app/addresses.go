package app

// MaxAddresses is the maximum number of addresses per customer.
const MaxAddresses = 50

// Address is a delivery address of a customer. Exactly one of a customer's addresses is the default.
type Address struct {
	ID    AddressID `json:"id"`
	Label string    `json:"label,omitempty"` // chosen by the customer, for example "Home"
	DeliveryAddress
	IsDefault bool  `json:"isDefault"`
	Version   int64 `json:"version"`
	CreatedAt Time  `json:"createdAt"`
	UpdatedAt Time  `json:"updatedAt"`
}
