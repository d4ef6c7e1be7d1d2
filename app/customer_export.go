package app

import "slices"

// CustomerExport contains all stored data about a customer. Lists are ordered by time, oldest first.
type CustomerExport struct {
	Customer       Customer               `json:"customer"`
	Account        ExportedAccount        `json:"account"`
	Addresses      []Address              `json:"addresses"`
	Orders         []Order                `json:"orders"`
	StatusChanges  []ExportedStatusChange `json:"statusChanges"` // of the orders
	Payments       []Payment              `json:"payments"`      // with their refunds
	Reservations   []Reservation          `json:"reservations"`
	LoyaltyEntries []LoyaltyEntry         `json:"loyaltyEntries"`
	Identities     []ExportedIdentity     `json:"identities"` // for social logins
	Sessions       []ExportedSession      `json:"sessions"`
	EmailChange    *EmailChange           `json:"emailChange,omitempty"` // the requested one
	PasswordResets []ExportedReset        `json:"passwordResets"`        // unused links to reset the password
	Activities     []ExportedActivity     `json:"activities"`            // of the account, from the audit trail
}

// Own returns the export as the customer may see it: without the references of integrations, and without the disabling
// of the account. It modifies the lists of e.
func (e CustomerExport) Own() CustomerExport {
	e.Customer, e.Account.DisabledAt = e.Customer.Own(), nil
	e.Activities = slices.DeleteFunc(e.Activities, func(a ExportedActivity) bool { return a.Realm != RealmCustomer })
	for i, order := range e.Orders {
		e.Orders[i] = order.Own()
	}
	for i, reservation := range e.Reservations {
		e.Reservations[i] = reservation.Own()
	}
	return e
}

// ExportedAccount is the state of a customer's login in an export.
type ExportedAccount struct {
	HasPassword bool  `json:"hasPassword"`          // false for guests and for accounts with social logins only
	EmailProven bool  `json:"emailProven"`          // the customer has proven to own the email
	DisabledAt  *Time `json:"disabledAt,omitempty"` // absent if the account can be used; customers do not see it
}

// ExportedStatusChange is a change of an order in an export. It does not identify the author.
type ExportedStatusChange struct {
	OrderNumber   string          `json:"orderId"` // human-readable order number
	Type          OrderChangeType `json:"type"`
	Realm         Realm           `json:"realm,omitempty"`  // of the author; absent for changes by the service itself
	From          *OrderStatus    `json:"from"`             // null for the creation of the order and for AMENDMENT
	To            OrderStatus     `json:"to,omitempty"`     // only for STATUS
	Reason        string          `json:"reason,omitempty"` // only for a cancellation
	ChangedFields []string        `json:"changedFields,omitempty"`
	ItemChanges   []ItemChange    `json:"itemChanges,omitempty"`
	Before        *Amendable      `json:"before,omitempty"` // only for AMENDMENT, of the customer's own time
	At            Time            `json:"at"`
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

// ExportedReset is a link to reset the customer's password in an export.
type ExportedReset struct {
	CreatedAt Time `json:"createdAt"`
	ExpiresAt Time `json:"expiresAt"`
}

// ExportedSession is a login in an export.
type ExportedSession struct {
	CreatedAt  Time   `json:"createdAt"`
	LastUsedAt Time   `json:"lastUsedAt"` // login or last refresh
	ExpiresAt  Time   `json:"expiresAt"`
	EndedAt    *Time  `json:"endedAt"` // null if the session has not ended, or expired
	Address    string `json:"address"` // IP address of the client at login
	UserAgent  string `json:"userAgent"`
}

// ExportedActivity is an audit entry in an export.
type ExportedActivity struct {
	Action  AuditAction `json:"action"`
	Realm   Realm       `json:"realm,omitempty"` // of the caller; absent for actions of the service itself
	Address string      `json:"address"`         // IP address of the customer's client; empty for other callers
	At      Time        `json:"at"`
}
