package app

import (
	"cmp"
	"slices"
	"time"
)

// Realm is one of the isolated worlds of authentication. A credential of one is not
// valid in another (spec, Realms).
type Realm string

const (
	RealmTenant   Realm = "tenant"         // owners, admins, managers and staff
	RealmCustomer Realm = "customer"       // guests of a restaurant with an account
	RealmPlatform Realm = "platform-admin" // those who run the installation
	RealmAPIKey   Realm = "api-key"        // servers; has no aud claim, since it has no token
)

// Role is a tenant user's standing in one store.
type Role string

const (
	RoleOwner   Role = "OWNER"
	RoleAdmin   Role = "ADMIN"
	RoleManager Role = "MANAGER"
	RoleStaff   Role = "STAFF"
)

// Roles lists the roles from the highest to the lowest; each has what those after it have.
var Roles = [...]Role{RoleOwner, RoleAdmin, RoleManager, RoleStaff}

// AtLeast reports whether r has everything that other has. It is false for an unknown role.
func (r Role) AtLeast(other Role) bool {
	have, need := slices.Index(Roles[:], r), slices.Index(Roles[:], other)
	return have >= 0 && need >= 0 && have <= need
}

// Scope is what an API key may be given.
type Scope string

const (
	ScopeReadOrders        Scope = "read:orders"
	ScopeWriteOrders       Scope = "write:orders"
	ScopeReadProducts      Scope = "read:products"
	ScopeWriteProducts     Scope = "write:products"
	ScopeReadCustomers     Scope = "read:customers"
	ScopeReadAnalytics     Scope = "read:analytics"
	ScopeReadReservations  Scope = "read:reservations"
	ScopeWriteReservations Scope = "write:reservations"
	ScopeManageWebhooks    Scope = "webhooks:manage"
)

// Scopes lists all scopes (spec, API keys).
var Scopes = [...]Scope{
	ScopeReadOrders, ScopeWriteOrders, ScopeReadProducts, ScopeWriteProducts, ScopeReadCustomers,
	ScopeReadAnalytics, ScopeReadReservations, ScopeWriteReservations, ScopeManageWebhooks,
}

// Implies reports whether a key with scope s has other too: write:x implies read:x.
func (s Scope) Implies(other Scope) bool {
	if s == other {
		return true
	}
	const write, read = "write:", "read:"
	return len(s) > len(write) && s[:len(write)] == write && other == read+s[len(write):]
}

// Permission is something that a route does, a row of the spec's permission table.
type Permission string

const (
	ViewOrders         Permission = "View orders"
	WriteOrders        Permission = "Create/update orders"
	CancelOrders       Permission = "Cancel orders"
	WatchOrders        Permission = "Watch orders" // GET /orders/stream
	ViewProducts       Permission = "View products"
	WriteProducts      Permission = "Create/update products"
	DeleteProducts     Permission = "Delete products"
	ViewCustomers      Permission = "View customers"
	ViewAnalytics      Permission = "View analytics"
	ManageSettings     Permission = "Manage settings"
	ManageUsers        Permission = "Manage users and roles"
	ManageAPIKeys      Permission = "Manage API keys"
	ManageBilling      Permission = "Billing and subscription"
	ManageWebhooks     Permission = "Manage webhooks"              // contract §3
	ViewReservations   Permission = "View reservations"            // contract §3
	WriteReservations  Permission = "Create/update reservations"   // contract §3
	DiscountOrders     Permission = "Discount orders"              // contract §5
	ViewOwnTenantLogin Permission = "View one's own tenant login"  // GET /auth/me
	EndCustomerLogin   Permission = "End one's own customer login" // POST /customer-auth/logout
	EndOwnTenantLogin  Permission = "End one's own tenant login"   // POST /auth/logout
	SwitchStore        Permission = "Switch to another store"      // POST /auth/switch-store
	ManageWebsites     Permission = "Manage websites"              // contract §2
	ViewAuditTrail     Permission = "View audit trail"             // contract §3
	RefundPayments     Permission = "Refund payments"              // contract §3
	WriteCustomers     Permission = "Update customers"             // contract §5
	WriteAddresses     Permission = "Keep one's own addresses"     // contract §5
)

// Grant says who has a permission. The zero values grant nothing.
type Grant struct {
	Role     Role  // the lowest tenant role that has it; "" = none
	Scope    Scope // the scope with which an API key has it; "" = none
	Own      bool  // customers have it for their own rows
	Platform bool  // platform administrators have it
}

// Permissions is the spec's table Roles and permissions with its table of scopes, and
// below the rows that contract §§3 and 5 add.
var Permissions = map[Permission]Grant{
	ViewOrders:     {Role: RoleStaff, Scope: ScopeReadOrders, Own: true},
	WriteOrders:    {Role: RoleStaff, Scope: ScopeWriteOrders},
	CancelOrders:   {Role: RoleManager, Scope: ScopeWriteOrders},
	ViewProducts:   {Role: RoleStaff, Scope: ScopeReadProducts},
	WriteProducts:  {Role: RoleManager, Scope: ScopeWriteProducts},
	DeleteProducts: {Role: RoleAdmin, Scope: ScopeWriteProducts},
	ViewCustomers:  {Role: RoleManager, Scope: ScopeReadCustomers, Own: true},
	ViewAnalytics:  {Role: RoleAdmin, Scope: ScopeReadAnalytics},
	ManageSettings: {Role: RoleAdmin},
	ManageUsers:    {Role: RoleOwner},
	ManageAPIKeys:  {Role: RoleOwner},
	ManageBilling:  {Role: RoleOwner},

	ManageWebhooks:     {Role: RoleAdmin, Scope: ScopeManageWebhooks},
	ViewReservations:   {Role: RoleStaff, Scope: ScopeReadReservations},
	WriteReservations:  {Role: RoleStaff, Scope: ScopeWriteReservations},
	DiscountOrders:     {Role: RoleManager, Scope: ScopeWriteOrders},
	WatchOrders:        {Role: RoleStaff, Scope: ScopeReadOrders},
	ViewOwnTenantLogin: {Role: RoleStaff, Platform: true},
	EndCustomerLogin:   {Own: true},
	EndOwnTenantLogin:  {Role: RoleStaff, Platform: true},
	SwitchStore:        {Role: RoleStaff},
	ManageWebsites:     {Platform: true},
	ViewAuditTrail:     {Role: RoleOwner},
	RefundPayments:     {Role: RoleManager, Scope: ScopeWriteOrders},
	WriteCustomers:     {Role: RoleManager, Own: true},
	WriteAddresses:     {Own: true},
}

// Principal is whoever makes a request, as its credential and the database tell. What
// does not apply to its realm is empty.
type Principal struct {
	Realm      Realm
	UserID     UserID
	CustomerID CustomerID
	SessionID  SessionID
	LoggedInAt time.Time // when the session began
	APIKeyID   APIKeyID
	StoreID    StoreID
	WebsiteID  WebsiteID
	View       StoreView // the view in which prices and texts are shown
	Role       Role
	Scopes     []Scope
}

// Credential returns whose Idempotency-Keys a request has: the API key's, the customer's or
// the user's.
func (p Principal) Credential() string {
	return cmp.Or(string(p.APIKeyID), string(p.CustomerID), string(p.UserID))
}

// Can returns nil when the principal has the permission. Else it is TOKEN_INVALID for a
// realm that has no business there, INSUFFICIENT_ROLE or INSUFFICIENT_SCOPE.
//
// A customer's permission is for own rows only; who calls Can for a customer must narrow
// what it reads to Principal.CustomerID.
func (p Principal) Can(permission Permission) error {
	grant := Permissions[permission]
	switch p.Realm {
	case RealmTenant:
		if !p.Role.AtLeast(grant.Role) {
			return Errorf(CodeInsufficientRole, "the role %s may not do this", p.Role)
		}
		return nil
	case RealmAPIKey:
		allows := func(s Scope) bool { return grant.Scope != "" && s.Implies(grant.Scope) }
		if !slices.ContainsFunc(p.Scopes, allows) {
			if grant.Scope == "" {
				return Errorf(CodeInsufficientScope, "no API key may do this")
			}
			return Errorf(CodeInsufficientScope, "the API key lacks the scope %s", grant.Scope)
		}
		return nil
	case RealmCustomer:
		if grant.Own {
			return nil
		}
	case RealmPlatform:
		if grant.Platform {
			return nil
		}
	}
	return TokenInvalid()
}
