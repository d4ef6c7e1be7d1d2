package app

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
