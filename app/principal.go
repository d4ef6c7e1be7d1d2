package app

import (
	"cmp"
	"slices"
	"time"
)

// Realm is an isolated area of authentication. A credential of one realm is invalid in all others.
type Realm string

const (
	RealmTenant   Realm = "tenant"         // owners, admins, managers and staff of stores
	RealmCustomer Realm = "customer"       // registered customers of a store
	RealmPlatform Realm = "platform-admin" // administrators of the installation
	RealmAPIKey   Realm = "api-key"        // servers with an API key; not an aud claim, because keys are no tokens
)

// Realms lists the realms.
var Realms = [...]Realm{RealmTenant, RealmCustomer, RealmPlatform, RealmAPIKey}

// Role is the role of a tenant user in one store.
type Role string

const (
	RoleOwner   Role = "OWNER"
	RoleAdmin   Role = "ADMIN"
	RoleManager Role = "MANAGER"
	RoleStaff   Role = "STAFF"
)

// Roles lists the roles from the highest to the lowest. Each role has the permissions of all lower roles.
var Roles = [...]Role{RoleOwner, RoleAdmin, RoleManager, RoleStaff}

// AtLeast reports whether r is the same role as other or a higher one. It is false if either role is unknown.
func (r Role) AtLeast(other Role) bool {
	have, need := slices.Index(Roles[:], r), slices.Index(Roles[:], other)
	return have >= 0 && need >= 0 && have <= need
}

// StaffRight is an operation that a store can grant to STAFF, whose role alone does not allow it.
type StaffRight string

const (
	StaffSellsOut       StaffRight = "SELL_OUT"
	StaffFindsCustomers StaffRight = "FIND_CUSTOMERS"
)

// StaffRights lists the rights.
var StaffRights = [...]StaffRight{StaffSellsOut, StaffFindsCustomers}

// Scope is a permission that can be granted to an API key.
type Scope string

const (
	ScopeReadOrders        Scope = "read:orders"
	ScopeWriteOrders       Scope = "write:orders"
	ScopePriceOrders       Scope = "orders:price"
	ScopeReadProducts      Scope = "read:products"
	ScopeWriteProducts     Scope = "write:products"
	ScopeReadCustomers     Scope = "read:customers"
	ScopeReadAnalytics     Scope = "read:analytics"
	ScopeReadReservations  Scope = "read:reservations"
	ScopeWriteReservations Scope = "write:reservations"
	ScopeManageWebhooks    Scope = "webhooks:manage"
)

// Scopes lists all scopes.
var Scopes = [...]Scope{
	ScopeReadOrders, ScopeWriteOrders, ScopePriceOrders, ScopeReadProducts, ScopeWriteProducts, ScopeReadCustomers,
	ScopeReadAnalytics, ScopeReadReservations, ScopeWriteReservations, ScopeManageWebhooks,
}

// Implies reports whether a key with scope s also has scope other: write:x implies read:x, and orders:price implies
// write:orders.
func (s Scope) Implies(other Scope) bool {
	if s == other {
		return true
	}
	if s == ScopePriceOrders {
		return ScopeWriteOrders.Implies(other)
	}
	const write, read = "write:", "read:"
	return len(s) > len(write) && s[:len(write)] == write && other == read+s[len(write):]
}

// Permission is the permission that a route requires (docs/behaviour.md#roles-and-permissions).
type Permission string

const (
	ViewOrders         Permission = "View orders"
	WriteOrders        Permission = "Create/update orders"
	CancelOrders       Permission = "Cancel orders"
	WatchOrders        Permission = "Watch orders"  // GET /orders/stream
	ListPayments       Permission = "List payments" // of all orders
	SumPayments        Permission = "Sum payments"  // GET /payments/summary
	ViewProducts       Permission = "View products"
	WriteProducts      Permission = "Create/update products"
	DeleteProducts     Permission = "Delete products"
	ViewCustomers      Permission = "View customers"
	ViewAnalytics      Permission = "View analytics"
	ManageSettings     Permission = "Manage settings"
	ManageUsers        Permission = "Manage users and roles"
	ManageAPIKeys      Permission = "Manage API keys"
	ManageBilling      Permission = "Billing and subscription"
	ManageWebhooks     Permission = "Manage webhooks"
	ViewReservations   Permission = "View reservations"
	WriteReservations  Permission = "Create/update reservations"
	DiscountOrders     Permission = "Discount orders"
	PriceOrders        Permission = "Set prices of orders"         // of lines, and the delivery fee
	ViewOwnTenantLogin Permission = "View one's own tenant login"  // GET /auth/me
	EndCustomerLogin   Permission = "End one's own customer login" // POST /customer-auth/logout
	EndOwnTenantLogin  Permission = "End one's own tenant login"   // POST /auth/logout
	OwnTenantAccount   Permission = "Keep one's own user account"  // password, OTP and sessions, /auth/*
	OwnCustomerAccount Permission = "Keep one's own account"       // the same, /customer-auth/*
	SwitchStore        Permission = "Switch to another store"      // POST /auth/switch-store
	ManageWebsites     Permission = "Manage websites"
	ViewOwnWebsite     Permission = "View the own website"
	ChangeOwnWebsite   Permission = "Update the own website"
	ViewStore          Permission = "View the store"
	AddStores          Permission = "Add stores"
	PauseOrdering      Permission = "Pause ordering"
	ViewAuditTrail     Permission = "View audit trail"
	ViewPlatformAudit  Permission = "View the platform's audit"
	RefundPayments     Permission = "Refund payments"
	WriteCustomers     Permission = "Update customers"
	EraseCustomers     Permission = "Export and erase customers"
	EraseReservations  Permission = "Erase reservations"
	SellOut            Permission = "Sell out products" // POST /products/{id}/sold-out
	FindCustomers      Permission = "Find customers"    // GET /customers/lookup
	WriteAddresses     Permission = "Keep one's own addresses"
)

// Grant lists the principals that have a permission. The zero value grants it to nobody.
type Grant struct {
	Role     Role       // lowest tenant role with the permission; "" = no role
	Staff    StaffRight // with which STAFF has the permission too; "" = none
	Scope    Scope      // scope that gives an API key the permission; "" = no scope
	AnyKey   bool       // every API key has the permission
	Own      bool       // customers have the permission for their own rows
	Platform bool       // platform administrators have the permission
}

// Permissions maps each permission to its grant. The first group is the required table of permissions; the second group
// contains those of further operations.
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
	PriceOrders:        {Scope: ScopePriceOrders},
	WatchOrders:        {Role: RoleStaff, Scope: ScopeReadOrders},
	ListPayments:       {Role: RoleStaff, Scope: ScopeReadOrders},
	SumPayments:        {Role: RoleManager, Scope: ScopeReadOrders},
	ViewOwnTenantLogin: {Role: RoleStaff, Platform: true},
	EndCustomerLogin:   {Own: true},
	EndOwnTenantLogin:  {Role: RoleStaff, Platform: true},
	OwnTenantAccount:   {Role: RoleStaff, Platform: true},
	OwnCustomerAccount: {Own: true},
	SwitchStore:        {Role: RoleStaff},
	ManageWebsites:     {Platform: true},
	ViewOwnWebsite:     {Role: RoleAdmin},
	ChangeOwnWebsite:   {Role: RoleOwner},
	ViewStore:          {Role: RoleStaff, AnyKey: true},
	AddStores:          {Role: RoleOwner},
	PauseOrdering:      {Role: RoleStaff, Scope: ScopeWriteOrders},
	ViewAuditTrail:     {Role: RoleOwner},
	ViewPlatformAudit:  {Platform: true},
	RefundPayments:     {Role: RoleManager, Scope: ScopeWriteOrders},
	WriteCustomers:     {Role: RoleManager, Own: true},
	EraseCustomers:     {Role: RoleAdmin, Own: true},
	EraseReservations:  {Role: RoleAdmin},
	WriteAddresses:     {Own: true},
	SellOut:            {Role: RoleManager, Staff: StaffSellsOut, Scope: ScopeWriteProducts},
	FindCustomers:      {Role: RoleManager, Staff: StaffFindsCustomers, Scope: ScopeReadCustomers},
}

// Principal is the authenticated caller of a request. Fields that do not apply to its realm are empty.
type Principal struct {
	Realm      Realm
	UserID     UserID
	CustomerID CustomerID
	SessionID  SessionID
	LoggedInAt time.Time // start of the session
	ProvenAt   time.Time // when the user last gave the password in the session; zero in other realms than the users'
	OTP        bool      // the user has one-time passwords switched on
	RequireOTP bool      // the store requires one-time passwords of its members
	Sandbox    bool      // the store is a sandbox
	StaffMay   []StaffRight
	APIKeyID   APIKeyID
	StoreID    StoreID
	WebsiteID  WebsiteID
	View       StoreView // view that determines the currency and the language of responses
	Role       Role
	Scopes     []Scope
}

// Credential returns the id of the API key, the customer or the user. Idempotency keys and limits are scoped to it.
func (p Principal) Credential() string {
	return cmp.Or(string(p.APIKeyID), string(p.CustomerID), string(p.UserID))
}

// Can returns nil if the principal has the permission. Otherwise, it returns INSUFFICIENT_ROLE for a tenant user,
// INSUFFICIENT_SCOPE for an API key, and TOKEN_INVALID for a realm that can never have the permission.
//
// A customer has permissions for own rows only: the caller of Can must restrict its queries to Principal.CustomerID.
func (p Principal) Can(permission Permission) error {
	grant := Permissions[permission]
	switch p.Realm {
	case RealmTenant:
		switch {
		case p.Role.AtLeast(grant.Role), p.Role == RoleStaff && slices.Contains(p.StaffMay, grant.Staff):
			return nil
		case p.Role == RoleStaff && grant.Staff != "":
			return Errorf(CodeInsufficientRole,
				"the role STAFF does not allow this operation; an ADMIN can grant it with %s in the setting staffMay",
				grant.Staff)
		case grant.Role == "" && grant.Scope != "":
			return Errorf(CodeInsufficientRole, "only an API key with the scope %s can do this", grant.Scope)
		}
		return Errorf(CodeInsufficientRole, "the role %s does not allow this operation", p.Role)
	case RealmAPIKey:
		allows := func(s Scope) bool { return grant.Scope != "" && s.Implies(grant.Scope) }
		if !grant.AnyKey && !slices.ContainsFunc(p.Scopes, allows) {
			if grant.Scope == "" {
				return Errorf(CodeInsufficientScope, "API keys cannot use this operation")
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
