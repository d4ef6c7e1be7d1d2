package app

// CustomerExport contains all stored data about a customer (contract §5). Lists are ordered by time, oldest first.
type CustomerExport struct {
	Customer       Customer           `json:"customer"`
	Addresses      []Address          `json:"addresses"`
	Orders         []Order            `json:"orders"`
	Payments       []Payment          `json:"payments"` // with their refunds
	Reservations   []Reservation      `json:"reservations"`
	LoyaltyEntries []LoyaltyEntry     `json:"loyaltyEntries"`
	Identities     []ExportedIdentity `json:"identities"` // for social logins
	Sessions       []ExportedSession  `json:"sessions"`
	EmailChange    *EmailChange       `json:"emailChange,omitempty"` // the requested one
	Activities     []ExportedActivity `json:"activities"`            // of the account, from the audit trail
}

// Own returns the export as the customer may see it: without the references of integrations. It modifies the lists of
// e.
func (e CustomerExport) Own() CustomerExport {
	e.Customer = e.Customer.Own()
	for i, order := range e.Orders {
		e.Orders[i] = order.Own()
	}
	for i, reservation := range e.Reservations {
		e.Reservations[i] = reservation.Own()
	}
	return e
}

// ExportedIdentity is a social identity in an export.
type ExportedIdentity struct {
	Provider  Provider `json:"provider"`
	Subject   string   `json:"subject"` // the provider's id of the person
	CreatedAt Time     `json:"createdAt"`
}

// EmailChange is a requested change of a customer's email that is not yet confirmed.
type EmailChange struct {
	Email     string `json:"email"` // the new one
	CreatedAt Time   `json:"createdAt"`
	ExpiresAt Time   `json:"expiresAt"`
}

// ExportedSession is a login in an export.
type ExportedSession struct {
	CreatedAt  Time   `json:"createdAt"`
	LastUsedAt Time   `json:"lastUsedAt"` // login or last refresh
	EndedAt    *Time  `json:"endedAt"`    // null if the session has not ended, or expired
	Address    string `json:"address"`    // IP address of the client at login
	UserAgent  string `json:"userAgent"`
}

// ExportedActivity is an audit entry in an export.
type ExportedActivity struct {
	Action  AuditAction `json:"action"`
	Address string      `json:"address"` // IP address of the client
	At      Time        `json:"at"`
}
