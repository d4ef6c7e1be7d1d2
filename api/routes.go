package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/comanda-dev/comanda/app"
)

// route is one operation of the API.
type route struct {
	Method     string
	Path       string
	Realms     []app.Realm    // of the tokens that it accepts or issues; API keys belong to the tenant realm
	Permission app.Permission // or public, or byRefreshToken
	Proof      bool           // requires a recent proof of identity
	Limit      limit          // the rate limits that a request counts against, in addition to its credential's bucket
	Cookie     string         // the refresh cookie that it reads, sets or clears; "" = none
	Idempotent bool           // accepts an Idempotency-Key
	Load       load           // of the website's work in progress
	Searches   []string       // query parameters that make it read many rows, because they have no index
	Across     bool           // uses connections of the pool for all stores
	Status     int            // of a success
	Handler    endpoint
}

// Permissions of operations that do not read an access token.
const (
	public         app.Permission = "public"           // no credential is required
	byRefreshToken app.Permission = "by refresh token" // the credential is the refresh cookie
)

// byAccessToken reports whether the credential of a route is the Authorization header.
func (rt *route) byAccessToken() bool {
	return rt.Permission != public && rt.Permission != byRefreshToken
}

// requiresOTP reports whether a route is closed to users without one-time passwords where these are required: in some
// stores, and on the platform. The routes with which users switch them on are open.
func (rt *route) requiresOTP() bool { return !strings.HasPrefix(rt.Path, "/auth/") }

// accepts reports whether a route is for tokens of a realm.
func (rt *route) accepts(realm app.Realm) bool { return slices.Contains(rt.Realms, realm) }

// guarded reports whether the cross-origin protection applies to a route (docs/behaviour.md#cross-origin-requests).
func (rt *route) guarded() bool {
	return strings.HasPrefix(rt.Path, "/auth/") || strings.HasPrefix(rt.Path, "/customer-auth/")
}

// routes returns all operations of the API.
func routes() []route {
	const get, post, patch, put = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut
	const del = http.MethodDelete
	tenant, customer := []app.Realm{app.RealmTenant}, []app.Realm{app.RealmCustomer}
	platform := []app.Realm{app.RealmPlatform}
	users := []app.Realm{app.RealmTenant, app.RealmPlatform}
	tenantOrCustomer := []app.Realm{app.RealmTenant, app.RealmCustomer}
	return []route{
		{Method: post, Path: "/auth/login", Realms: users, Permission: public, Limit: perLogin, Cookie: userCookie,
			Status: 200, Handler: login},
		{Method: post, Path: "/auth/refresh", Realms: users, Permission: byRefreshToken, Limit: perRefresh,
			Cookie: userCookie, Across: true, Status: 200, Handler: refresh},
		{Method: post, Path: "/auth/switch-store", Realms: tenant, Permission: app.SwitchStore, Limit: perSession,
			Across: true, Status: 200, Handler: switchStore},
		{Method: post, Path: "/auth/logout", Realms: users, Permission: app.EndOwnTenantLogin, Limit: perSession,
			Cookie: userCookie, Across: true, Status: 200, Handler: logout},
		{Method: post, Path: "/auth/otp", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 201, Handler: setUpOTP},
		{Method: post, Path: "/auth/otp/confirm", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 200, Handler: confirmOTP},
		{Method: post, Path: "/auth/otp/recovery-codes", Realms: users, Permission: app.OwnTenantAccount,
			Limit: perSession, Across: true, Status: 200, Handler: replaceRecoveryCodes},
		{Method: del, Path: "/auth/otp", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 204, Handler: disableOTP},
		{Method: get, Path: "/auth/me", Realms: users, Permission: app.ViewOwnTenantLogin, Across: true, Status: 200,
			Handler: getCurrentUser},
		{Method: get, Path: "/auth/stores", Realms: tenant, Permission: app.SwitchStore, Across: true, Status: 200,
			Handler: listStores},
		{Method: post, Path: "/auth/accept-invite", Realms: users, Permission: public, Limit: perInvitation,
			Cookie: userCookie, Status: 200, Handler: acceptInvitation},

		{Method: get, Path: "/auth/sessions", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 200, Handler: listSessions},
		{Method: del, Path: "/auth/sessions", Realms: users, Permission: app.OwnTenantAccount, Proof: true,
			Limit: perSession, Across: true, Status: 204, Handler: endOtherSessions},
		{Method: del, Path: "/auth/sessions/{id}", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 204, Handler: endSession},
		{Method: post, Path: "/auth/reauthenticate", Realms: users, Permission: app.OwnTenantAccount,
			Limit: perSession, Across: true, Status: 200, Handler: reauthenticate},
		{Method: post, Path: "/auth/password", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Across: true, Status: 200, Handler: changePassword},

		{Method: post, Path: "/auth/password-reset", Realms: users, Permission: public, Limit: perLogin, Status: 202,
			Handler: requestPasswordReset},
		{Method: post, Path: "/auth/password-reset/confirm", Realms: users, Permission: public, Limit: perToken,
			Status: 200, Handler: resetPassword},

		{Method: get, Path: "/users", Realms: tenant, Permission: app.ManageUsers, Across: true, Status: 200,
			Handler: listUsers},
		{Method: post, Path: "/users", Realms: tenant, Permission: app.ManageUsers, Proof: true, Limit: perMail,
			Idempotent: true, Across: true, Status: 201, Handler: inviteUser},
		{Method: patch, Path: "/users/{id}", Realms: tenant, Permission: app.ManageUsers, Proof: true, Across: true,
			Status: 200, Handler: updateUser},
		{Method: del, Path: "/users/{id}", Realms: tenant, Permission: app.ManageUsers, Across: true, Status: 204,
			Handler: removeUser},

		{Method: get, Path: "/invitations", Realms: tenant, Permission: app.ManageUsers, Across: true, Status: 200,
			Handler: listInvitations},
		{Method: post, Path: "/invitations/{id}/resend", Realms: tenant, Permission: app.ManageUsers, Limit: perMail,
			Across: true, Status: 200, Handler: resendInvitation},
		{Method: del, Path: "/invitations/{id}", Realms: tenant, Permission: app.ManageUsers, Across: true,
			Status: 204, Handler: deleteInvitation},

		{Method: get, Path: "/store", Realms: tenant, Permission: app.ViewStore, Across: true, Status: 200,
			Handler: getStore},
		{Method: patch, Path: "/store", Realms: tenant, Permission: app.ManageSettings, Across: true, Status: 200,
			Handler: updateStore},
		{Method: post, Path: "/store/pause", Realms: tenant, Permission: app.PauseOrdering, Across: true, Status: 200,
			Handler: pauseOrdering},
		{Method: post, Path: "/store/resume", Realms: tenant, Permission: app.PauseOrdering, Across: true,
			Status: 200, Handler: resumeOrdering},
		{Method: post, Path: "/store/views", Realms: tenant, Permission: app.ManageSettings, Idempotent: true,
			Status: 201, Handler: createStoreView},
		{Method: patch, Path: "/store/views/{id}", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Handler: updateStoreView},
		{Method: del, Path: "/store/views/{id}", Realms: tenant, Permission: app.ManageSettings, Across: true,
			Status: 204, Handler: deleteStoreView},
		{Method: post, Path: "/stores", Realms: tenant, Permission: app.AddStores, Idempotent: true, Across: true,
			Status: 201, Handler: createStore},

		{Method: get, Path: "/audit", Realms: tenant, Permission: app.ViewAuditTrail, Across: true, Status: 200,
			Handler: listAuditEntries},

		{Method: post, Path: "/customer-auth/register", Realms: customer, Permission: public, Limit: perRegistration,
			Cookie: customerCookie, Status: 201, Handler: registerCustomer},
		{Method: post, Path: "/customer-auth/login", Realms: customer, Permission: public, Limit: perCustomer,
			Cookie: customerCookie, Status: 200, Handler: loginCustomer},
		{Method: post, Path: "/customer-auth/social", Realms: customer, Permission: public, Limit: perIDToken,
			Cookie: customerCookie, Status: 200, Handler: loginWithProvider},
		{Method: post, Path: "/customer-auth/social/link", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perLink, Across: true, Status: 200, Handler: linkProvider},
		{Method: post, Path: "/customer-auth/refresh", Realms: customer, Permission: byRefreshToken, Limit: perRefresh,
			Cookie: customerCookie, Across: true, Status: 200, Handler: refreshCustomer},
		{Method: post, Path: "/customer-auth/logout", Realms: customer, Permission: app.EndCustomerLogin, Status: 200,
			Limit: perSession, Cookie: customerCookie, Handler: logoutCustomer},

		{Method: get, Path: "/customer-auth/sessions", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 200, Handler: listCustomerSessions},
		{Method: del, Path: "/customer-auth/sessions", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 204, Handler: endOtherCustomerSessions},
		{Method: del, Path: "/customer-auth/sessions/{id}", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 204, Handler: endCustomerSession},
		{Method: post, Path: "/customer-auth/password", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Across: true, Status: 200, Handler: changeCustomerPassword},

		{Method: post, Path: "/customer-auth/password-reset", Realms: customer, Permission: public, Limit: perCustomer,
			Status: 202, Handler: requestCustomerPasswordReset},
		{Method: post, Path: "/customer-auth/password-reset/confirm", Realms: customer, Permission: public,
			Limit: perToken, Status: 200, Handler: resetCustomerPassword},

		{Method: post, Path: "/customer-auth/email", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perNewEmail, Status: 202, Handler: changeCustomerEmail},
		{Method: post, Path: "/customer-auth/email/confirm", Realms: customer, Permission: public, Limit: perToken,
			Status: 200, Handler: confirmCustomerEmail},

		{Method: post, Path: "/api-keys", Realms: tenant, Permission: app.ManageAPIKeys, Proof: true,
			Idempotent: true, Across: true, Status: 201, Handler: createAPIKey},
		{Method: get, Path: "/api-keys", Realms: tenant, Permission: app.ManageAPIKeys, Across: true, Status: 200,
			Handler: listAPIKeys},
		{Method: post, Path: "/api-keys/{id}/revoke", Realms: tenant, Permission: app.ManageAPIKeys, Across: true,
			Status: 200, Handler: revokeAPIKey},

		{Method: post, Path: "/webhooks", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true, Status: 201,
			Handler: createWebhook},
		{Method: get, Path: "/webhooks", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listWebhooks},
		{Method: post, Path: "/webhooks/filter-test", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: testWebhookFilter},
		{Method: get, Path: "/webhooks/event-types", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listEventTypes},
		{Method: get, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: getWebhook},
		{Method: patch, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: updateWebhook},
		{Method: del, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 204,
			Handler: deleteWebhook},
		{Method: post, Path: "/webhooks/{id}/test", Realms: tenant, Permission: app.ManageWebhooks, Limit: perTest,
			Status: 200, Handler: testWebhook},
		{Method: post, Path: "/webhooks/{id}/rotate-secret", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Handler: rotateWebhookSecret},
		{Method: get, Path: "/webhooks/{id}/stats", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: getWebhookStats},
		{Method: get, Path: "/webhooks/{id}/deliveries", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listDeliveryAttempts},
		{Method: get, Path: "/webhooks/{id}/deliveries/{attemptId}", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Handler: getDeliveryAttempt},
		{Method: post, Path: "/webhooks/{id}/replay", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true,
			Status: 202, Handler: replayWebhook},
		{Method: get, Path: "/webhooks/{id}/replays/{replayId}", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Handler: getWebhookReplay},

		{Method: post, Path: "/replays", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true, Status: 202,
			Handler: replayDeliveries},
		{Method: get, Path: "/replays", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listReplays},
		{Method: get, Path: "/replays/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: getReplay},
		{Method: post, Path: "/replays/{id}/cancel", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: cancelReplay},

		{Method: get, Path: "/events", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listEvents},
		{Method: get, Path: "/events/stream", Realms: tenant, Permission: app.ManageWebhooks, Limit: perStream,
			Across: true, Status: 200, Handler: streamEvents},
		{Method: get, Path: "/events/{id}", Realms: tenant, Permission: app.ManageWebhooks, Across: true,
			Status:  200,
			Handler: getEvent},

		{Method: get, Path: "/deliveries", Realms: tenant, Permission: app.ManageWebhooks, Across: true,
			Status:  200,
			Handler: listDeliveries},
		{Method: get, Path: "/deliveries/{id}", Realms: tenant, Permission: app.ManageWebhooks, Across: true,
			Status: 200, Handler: getDelivery},
		{Method: post, Path: "/deliveries/{id}/replay", Realms: tenant, Permission: app.ManageWebhooks, Across: true,
			Status:  202,
			Handler: replayDelivery},
		{Method: post, Path: "/deliveries/{id}/retry", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: retryDelivery},

		{Method: get, Path: "/dead-letters", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Handler: listDeadLetters},

		{Method: post, Path: "/orders", Realms: tenant, Permission: app.WriteOrders, Idempotent: true, Status: 201,
			Handler: placeOrder},
		{Method: get, Path: "/orders", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Handler: listOrders},
		{Method: post, Path: "/orders/quote", Realms: tenant, Permission: app.WriteOrders, Status: 200,
			Handler: quoteOrder},
		{Method: get, Path: "/orders/stream", Realms: tenant, Permission: app.WatchOrders, Limit: perStream,
			Across: true, Status: 200, Handler: streamOrders},
		{Method: get, Path: "/orders/{id}", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Handler: getOrder},
		{Method: patch, Path: "/orders/{id}", Realms: tenant, Permission: app.WriteOrders, Idempotent: true,
			Status:  200,
			Handler: updateOrder},
		{Method: put, Path: "/orders/{id}/items/{itemId}/done", Realms: tenant, Permission: app.WriteOrders,
			Status: 200, Handler: tickOrderItem},
		{Method: post, Path: "/orders/{id}/printed", Realms: tenant, Permission: app.WriteOrders, Status: 200,
			Handler: markOrderPrinted},
		{Method: get, Path: "/orders/{id}/changes", Realms: tenant, Permission: app.WatchOrders, Load: aComparison,
			Status: 200, Handler: listOrderItemChanges},
		{Method: patch, Path: "/orders/{id}/status", Realms: tenant, Permission: app.WriteOrders, Status: 200,
			Handler: updateOrderStatus},
		{Method: get, Path: "/orders/{id}/history", Realms: tenantOrCustomer, Permission: app.ViewOrders,
			Across: true, Status: 200, Handler: listOrderChanges},
		{Method: get, Path: "/orders/{id}/deliveries", Realms: tenant, Permission: app.WatchOrders, Status: 200,
			Handler: listOrderDeliveries},
		{Method: post, Path: "/orders/{id}/payments", Realms: tenant, Permission: app.WriteOrders, Idempotent: true,
			Status: 201, Handler: recordPayment},
		{Method: get, Path: "/orders/{id}/payments", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Handler: listOrderPayments},

		{Method: get, Path: "/payments", Realms: tenant, Permission: app.ListPayments, Status: 200,
			Handler: listPayments},
		{Method: get, Path: "/payments/summary", Realms: tenant, Permission: app.SumPayments, Load: heavy,
			Status: 200, Handler: summarizePayments},
		{Method: post, Path: "/payments/{id}/refunds", Realms: tenant, Permission: app.RefundPayments, Idempotent: true,
			Status: 201, Handler: recordRefund},

		{Method: get, Path: "/products", Realms: tenant, Permission: app.ViewProducts,
			Searches: []string{"q", "category", "isAvailable", "orderable", "updatedSince"}, Status: 200,
			Handler: listProducts},
		{Method: post, Path: "/products", Realms: tenant, Permission: app.WriteProducts, Idempotent: true, Status: 201,
			Handler: createProduct},
		{Method: post, Path: "/products/import", Realms: tenant, Permission: app.WriteProducts, Idempotent: true,
			Load: anImport, Status: 200, Handler: importProducts},
		{Method: get, Path: "/products/categories", Realms: tenant, Permission: app.ViewProducts, Status: 200,
			Handler: listCategories},
		{Method: get, Path: "/products/{id}", Realms: tenant, Permission: app.ViewProducts, Status: 200,
			Handler: getProduct},
		{Method: patch, Path: "/products/{id}", Realms: tenant, Permission: app.WriteProducts, Status: 200,
			Handler: updateProduct},
		{Method: post, Path: "/products/{id}/stock", Realms: tenant, Permission: app.WriteProducts, Idempotent: true,
			Status: 200, Handler: changeStock},
		{Method: post, Path: "/products/{id}/sold-out", Realms: tenant, Permission: app.SellOut, Status: 200,
			Handler: sellOut},
		{Method: del, Path: "/products/{id}", Realms: tenant, Permission: app.DeleteProducts, Status: 204,
			Handler: deleteProduct},

		{Method: post, Path: "/reservations", Realms: tenant, Permission: app.WriteReservations, Idempotent: true,
			Status: 201, Handler: createReservation},
		{Method: get, Path: "/reservations", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Handler: listReservations},
		{Method: get, Path: "/reservations/seats", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Handler: getSeats},
		{Method: get, Path: "/reservations/slots", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Handler: listSlots},
		{Method: get, Path: "/reservations/{id}", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Handler: getReservation},
		{Method: patch, Path: "/reservations/{id}", Realms: tenant, Permission: app.WriteReservations, Status: 200,
			Handler: updateReservation},
		{Method: del, Path: "/reservations/{id}", Realms: tenant, Permission: app.EraseReservations, Status: 204,
			Handler: eraseReservation},
		{Method: patch, Path: "/reservations/{id}/status", Realms: tenant, Permission: app.WriteReservations,
			Status: 200, Handler: updateReservationStatus},

		{Method: get, Path: "/analytics/summary", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: summarizeSales},
		{Method: get, Path: "/analytics/sales", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: plotSales},
		{Method: get, Path: "/analytics/products", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: listProductSales},
		{Method: get, Path: "/analytics/options", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: listOptionSales},
		{Method: get, Path: "/analytics/channels", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: listChannelSales},
		{Method: get, Path: "/analytics/customers", Realms: tenant, Permission: app.ViewAnalytics, Load: heavy,
			Status: 200, Handler: countCustomers},

		{Method: get, Path: "/settings", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Handler: getSettings},
		{Method: patch, Path: "/settings", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Handler: updateSettings},

		{Method: get, Path: "/website", Realms: tenant, Permission: app.ViewOwnWebsite, Across: true, Status: 200,
			Handler: getWebsite},
		{Method: patch, Path: "/website", Realms: tenant, Permission: app.ChangeOwnWebsite, Limit: perWebsiteChange,
			Across: true, Status: 200, Handler: updateOwnWebsite},

		{Method: get, Path: "/billing", Realms: tenant, Permission: app.ManageBilling, Across: true, Status: 200,
			Handler: getBilling},
		{Method: patch, Path: "/billing", Realms: tenant, Permission: app.ManageBilling, Limit: perWebsiteChange,
			Across: true, Status: 200, Handler: updateBilling},

		{Method: get, Path: "/customers", Realms: tenantOrCustomer, Permission: app.ViewCustomers, Status: 200,
			Handler: listCustomers},
		{Method: get, Path: "/customers/lookup", Realms: tenant, Permission: app.FindCustomers, Limit: perLookup,
			Status: 200, Handler: findCustomer},
		{Method: get, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.ViewCustomers, Status: 200,
			Handler: getCustomer},
		{Method: patch, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.WriteCustomers,
			Limit: perOwnChange, Status: 200, Handler: updateCustomer},
		{Method: del, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.EraseCustomers, Status: 204,
			Handler: eraseCustomer},
		{Method: get, Path: "/customers/{id}/export", Realms: tenantOrCustomer, Permission: app.EraseCustomers,
			Load: anExport, Status: 200, Handler: exportCustomer},
		{Method: get, Path: "/customers/{id}/loyalty", Realms: tenantOrCustomer, Permission: app.ViewCustomers,
			Status: 200, Handler: listLoyaltyEntries},
		{Method: get, Path: "/customers/{id}/addresses", Realms: tenantOrCustomer, Permission: app.ViewCustomers,
			Status: 200, Handler: listAddresses},
		{Method: post, Path: "/customers/{id}/addresses", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Idempotent: true, Status: 201, Handler: createAddress},
		{Method: patch, Path: "/customers/{id}/addresses/{addressId}", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Status: 200, Handler: updateAddress},
		{Method: del, Path: "/customers/{id}/addresses/{addressId}", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Status: 204, Handler: deleteAddress},

		{Method: post, Path: "/platform/websites", Realms: platform, Permission: app.ManageWebsites, Idempotent: true,
			Status: 201, Handler: createWebsite},
		{Method: get, Path: "/platform/websites", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Handler: listWebsites},
		{Method: get, Path: "/platform/websites/{id}", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Handler: getWebsiteDetails},
		{Method: post, Path: "/platform/websites/{id}/stores", Realms: platform, Permission: app.ManageWebsites,
			Idempotent: true, Status: 201, Handler: openStore},
		{Method: post, Path: "/platform/websites/{id}/invite-owner", Realms: platform, Permission: app.ManageWebsites,
			Limit: perMail, Idempotent: true, Status: 201, Handler: inviteOwner},
		{Method: del, Path: "/platform/websites/{id}/invitations/{invitationId}", Realms: platform,
			Permission: app.ManageWebsites, Status: 204, Handler: withdrawOwnerInvitation},
		{Method: get, Path: "/platform/audit", Realms: platform, Permission: app.ViewPlatformAudit, Status: 200,
			Handler: listPlatformAuditEntries},
		{Method: patch, Path: "/platform/websites/{id}", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Handler: updateWebsite},
	}
}
