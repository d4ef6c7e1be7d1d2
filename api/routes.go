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
	Limit      limit          // the rate limits that a request counts against, in addition to its credential's bucket
	Cookie     string         // the refresh cookie that it reads, sets or clears; "" = none
	Idempotent bool           // accepts an Idempotency-Key
	Status     int            // of a success
	Summary    string         // in the OpenAPI document
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

// requiresOTP reports whether a route is closed to users without one-time passwords in a store that requires them. The
// routes with which users switch them on are open.
func (rt *route) requiresOTP() bool { return !strings.HasPrefix(rt.Path, "/auth/") }

// accepts reports whether a route is for tokens of a realm.
func (rt *route) accepts(realm app.Realm) bool { return slices.Contains(rt.Realms, realm) }

// guarded reports whether the cross-origin protection applies to a route (docs/behaviour.md#cross-origin-requests).
func (rt *route) guarded() bool {
	return strings.HasPrefix(rt.Path, "/auth/") || strings.HasPrefix(rt.Path, "/customer-auth/")
}

// routes returns all operations of the API.
func routes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	tenant, customer := []app.Realm{app.RealmTenant}, []app.Realm{app.RealmCustomer}
	platform := []app.Realm{app.RealmPlatform}
	users := []app.Realm{app.RealmTenant, app.RealmPlatform}
	tenantOrCustomer := []app.Realm{app.RealmTenant, app.RealmCustomer}
	return []route{
		{Method: post, Path: "/auth/login", Realms: users, Permission: public, Limit: perLogin, Cookie: userCookie,
			Status: 200, Summary: "Log in", Handler: login},
		{Method: post, Path: "/auth/refresh", Realms: users, Permission: byRefreshToken, Limit: perRefresh,
			Cookie: userCookie, Status: 200, Summary: "Refresh the tokens", Handler: refresh},
		{Method: post, Path: "/auth/switch-store", Realms: tenant, Permission: app.SwitchStore, Limit: perSession,
			Status: 200, Summary: "Switch to another store of the website", Handler: switchStore},
		{Method: post, Path: "/auth/logout", Realms: users, Permission: app.EndOwnTenantLogin, Limit: perSession,
			Cookie: userCookie, Status: 200, Summary: "Log out", Handler: logout},
		{Method: post, Path: "/auth/otp", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 201, Summary: "Set up one-time passwords", Handler: setUpOTP},
		{Method: post, Path: "/auth/otp/confirm", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 200, Summary: "Switch on one-time passwords", Handler: confirmOTP},
		{Method: post, Path: "/auth/otp/recovery-codes", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 200, Summary: "Replace the recovery codes", Handler: replaceRecoveryCodes},
		{Method: del, Path: "/auth/otp", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 204, Summary: "Switch off one-time passwords", Handler: disableOTP},
		{Method: get, Path: "/auth/me", Realms: users, Permission: app.ViewOwnTenantLogin, Status: 200,
			Summary: "Get the current user and the active store", Handler: getCurrentUser},
		{Method: get, Path: "/auth/stores", Realms: tenant, Permission: app.SwitchStore, Status: 200,
			Summary: "List the stores of the current user", Handler: listStores},
		{Method: post, Path: "/auth/accept-invite", Realms: users, Permission: public, Limit: perInvitation,
			Cookie: userCookie, Status: 200, Summary: "Accept an invitation and log in", Handler: acceptInvitation},

		{Method: get, Path: "/auth/sessions", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 200, Summary: "List one's own sessions", Handler: listSessions},
		{Method: del, Path: "/auth/sessions", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 204, Summary: "End all other sessions", Handler: endOtherSessions},
		{Method: del, Path: "/auth/sessions/{id}", Realms: users, Permission: app.OwnTenantAccount,
			Limit: perSession, Status: 204, Summary: "End a session", Handler: endSession},
		{Method: post, Path: "/auth/password", Realms: users, Permission: app.OwnTenantAccount, Limit: perSession,
			Status: 200, Summary: "Change the password", Handler: changePassword},

		{Method: post, Path: "/auth/password-reset", Realms: users, Permission: public, Limit: perLogin, Status: 202,
			Summary: "Request a link to reset the password", Handler: requestPasswordReset},
		{Method: post, Path: "/auth/password-reset/confirm", Realms: users, Permission: public, Limit: perToken,
			Status: 200, Summary: "Reset the password", Handler: resetPassword},

		{Method: get, Path: "/users", Realms: tenant, Permission: app.ManageUsers, Status: 200,
			Summary: "List users", Handler: listUsers},
		{Method: post, Path: "/users", Realms: tenant, Permission: app.ManageUsers, Limit: perMail, Idempotent: true,
			Status: 201, Summary: "Invite a user", Handler: inviteUser},
		{Method: patch, Path: "/users/{id}", Realms: tenant, Permission: app.ManageUsers, Status: 200,
			Summary: "Change a user's role", Handler: updateUser},
		{Method: del, Path: "/users/{id}", Realms: tenant, Permission: app.ManageUsers, Status: 204,
			Summary: "Remove a user from the store", Handler: removeUser},

		{Method: get, Path: "/invitations", Realms: tenant, Permission: app.ManageUsers, Status: 200,
			Summary: "List pending invitations", Handler: listInvitations},
		{Method: post, Path: "/invitations/{id}/resend", Realms: tenant, Permission: app.ManageUsers, Limit: perMail,
			Status: 200, Summary: "Send an invitation again", Handler: resendInvitation},
		{Method: del, Path: "/invitations/{id}", Realms: tenant, Permission: app.ManageUsers, Status: 204,
			Summary: "Withdraw an invitation", Handler: deleteInvitation},

		{Method: get, Path: "/store", Realms: tenant, Permission: app.ViewStore, Status: 200,
			Summary: "Get the active store", Handler: getStore},
		{Method: patch, Path: "/store", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Summary: "Update the active store", Handler: updateStore},
		{Method: post, Path: "/store/pause", Realms: tenant, Permission: app.PauseOrdering, Status: 200,
			Summary: "Pause ordering", Handler: pauseOrdering},
		{Method: post, Path: "/store/resume", Realms: tenant, Permission: app.PauseOrdering, Status: 200,
			Summary: "Resume ordering", Handler: resumeOrdering},
		{Method: post, Path: "/store/views", Realms: tenant, Permission: app.ManageSettings, Idempotent: true,
			Status: 201, Summary: "Create a store view", Handler: createStoreView},
		{Method: patch, Path: "/store/views/{id}", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Summary: "Update a store view", Handler: updateStoreView},
		{Method: del, Path: "/store/views/{id}", Realms: tenant, Permission: app.ManageSettings, Status: 204,
			Summary: "Delete a store view", Handler: deleteStoreView},
		{Method: post, Path: "/stores", Realms: tenant, Permission: app.AddStores, Idempotent: true, Status: 201,
			Summary: "Create a further store of the website", Handler: createStore},

		{Method: get, Path: "/audit", Realms: tenant, Permission: app.ViewAuditTrail, Status: 200,
			Summary: "List audit entries", Handler: listAuditEntries},

		{Method: post, Path: "/customer-auth/register", Realms: customer, Permission: public,
			Limit: perRegistration, Cookie: customerCookie, Status: 201, Summary: "Register a customer",
			Handler: registerCustomer},
		{Method: post, Path: "/customer-auth/login", Realms: customer, Permission: public, Limit: perCustomer,
			Cookie: customerCookie, Status: 200, Summary: "Log in as a customer", Handler: loginCustomer},
		{Method: post, Path: "/customer-auth/social", Realms: customer, Permission: public, Limit: perIDToken,
			Cookie: customerCookie, Status: 200, Summary: "Log in with an ID token", Handler: loginWithProvider},
		{Method: post, Path: "/customer-auth/social/link", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perLink, Status: 200, Summary: "Link a provider to the customer's account", Handler: linkProvider},
		{Method: post, Path: "/customer-auth/refresh", Realms: customer, Permission: byRefreshToken, Limit: perRefresh,
			Cookie: customerCookie, Status: 200, Summary: "Refresh a customer's tokens", Handler: refreshCustomer},
		{Method: post, Path: "/customer-auth/logout", Realms: customer, Permission: app.EndCustomerLogin, Status: 200,
			Limit: perSession, Cookie: customerCookie, Summary: "Log out a customer", Handler: logoutCustomer},

		{Method: get, Path: "/customer-auth/sessions", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 200, Summary: "List a customer's sessions", Handler: listCustomerSessions},
		{Method: del, Path: "/customer-auth/sessions", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 204, Summary: "End all other customer sessions", Handler: endOtherCustomerSessions},
		{Method: del, Path: "/customer-auth/sessions/{id}", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 204, Summary: "End a customer's session", Handler: endCustomerSession},
		{Method: post, Path: "/customer-auth/password", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perSession, Status: 200, Summary: "Change a customer's password", Handler: changeCustomerPassword},

		{Method: post, Path: "/customer-auth/password-reset", Realms: customer, Permission: public, Limit: perCustomer,
			Status: 202, Summary: "Request a link to reset a customer's password", Handler: requestCustomerPasswordReset},
		{Method: post, Path: "/customer-auth/password-reset/confirm", Realms: customer, Permission: public,
			Limit: perToken, Status: 200, Summary: "Reset a customer's password", Handler: resetCustomerPassword},

		{Method: post, Path: "/customer-auth/email", Realms: customer, Permission: app.OwnCustomerAccount,
			Limit: perNewEmail, Status: 202, Summary: "Request a change of a customer's email", Handler: changeCustomerEmail},
		{Method: post, Path: "/customer-auth/email/confirm", Realms: customer, Permission: public,
			Limit: perToken, Status: 200, Summary: "Confirm a customer's new email", Handler: confirmCustomerEmail},

		{Method: post, Path: "/api-keys", Realms: tenant, Permission: app.ManageAPIKeys, Idempotent: true, Status: 201,
			Summary: "Create an API key", Handler: createAPIKey},
		{Method: get, Path: "/api-keys", Realms: tenant, Permission: app.ManageAPIKeys, Status: 200,
			Summary: "List API keys", Handler: listAPIKeys},
		{Method: post, Path: "/api-keys/{id}/revoke", Realms: tenant, Permission: app.ManageAPIKeys, Status: 200,
			Summary: "Revoke an API key", Handler: revokeAPIKey},

		{Method: post, Path: "/webhooks", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true, Status: 201,
			Summary: "Create a webhook", Handler: createWebhook},
		{Method: get, Path: "/webhooks", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List webhooks", Handler: listWebhooks},
		{Method: get, Path: "/webhooks/event-types", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List event types", Handler: listEventTypes},
		{Method: get, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Get a webhook", Handler: getWebhook},
		{Method: patch, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Update a webhook", Handler: updateWebhook},
		{Method: del, Path: "/webhooks/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 204,
			Summary: "Delete a webhook", Handler: deleteWebhook},
		{Method: post, Path: "/webhooks/{id}/test", Realms: tenant, Permission: app.ManageWebhooks, Limit: perTest,
			Status: 200, Summary: "Send a test event to a webhook", Handler: testWebhook},
		{Method: post, Path: "/webhooks/{id}/rotate-secret", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Summary: "Rotate a webhook's secret", Handler: rotateWebhookSecret},
		{Method: get, Path: "/webhooks/{id}/stats", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Count a webhook's delivery attempts", Handler: getWebhookStats},
		{Method: get, Path: "/webhooks/{id}/deliveries", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List a webhook's delivery attempts", Handler: listDeliveryAttempts},
		{Method: get, Path: "/webhooks/{id}/deliveries/{attemptId}", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Summary: "Get a delivery attempt", Handler: getDeliveryAttempt},
		{Method: post, Path: "/webhooks/{id}/replay", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true,
			Status: 202, Summary: "Replay a webhook's finished deliveries", Handler: replayWebhook},
		{Method: get, Path: "/webhooks/{id}/replays/{replayId}", Realms: tenant, Permission: app.ManageWebhooks,
			Status: 200, Summary: "Get the progress of a webhook's bulk replay", Handler: getWebhookReplay},

		{Method: post, Path: "/replays", Realms: tenant, Permission: app.ManageWebhooks, Idempotent: true, Status: 202,
			Summary: "Replay the store's finished deliveries", Handler: replayDeliveries},
		{Method: get, Path: "/replays", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List bulk replays", Handler: listReplays},
		{Method: get, Path: "/replays/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Get the progress of a bulk replay", Handler: getReplay},
		{Method: post, Path: "/replays/{id}/cancel", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Cancel a bulk replay", Handler: cancelReplay},

		{Method: get, Path: "/events", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List events", Handler: listEvents},
		{Method: get, Path: "/events/stream", Realms: tenant, Permission: app.ManageWebhooks, Limit: perStream,
			Status: 200, Summary: "Stream events (server-sent events)", Handler: streamEvents},
		{Method: get, Path: "/events/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Get an event with its deliveries", Handler: getEvent},

		{Method: get, Path: "/deliveries", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "List deliveries", Handler: listDeliveries},
		{Method: get, Path: "/deliveries/{id}", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Get a delivery", Handler: getDelivery},
		{Method: post, Path: "/deliveries/{id}/replay", Realms: tenant, Permission: app.ManageWebhooks, Status: 202,
			Summary: "Replay a delivery", Handler: replayDelivery},
		{Method: post, Path: "/deliveries/{id}/retry", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Retry a delivery now", Handler: retryDelivery},

		{Method: get, Path: "/dead-letters", Realms: tenant, Permission: app.ManageWebhooks, Status: 200,
			Summary: "Count dead letters by webhook and reason", Handler: listDeadLetters},

		{Method: post, Path: "/orders", Realms: tenant, Permission: app.WriteOrders, Idempotent: true, Status: 201,
			Summary: "Place an order", Handler: placeOrder},
		{Method: get, Path: "/orders", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Summary: "List orders", Handler: listOrders},
		{Method: post, Path: "/orders/quote", Realms: tenant, Permission: app.WriteOrders, Status: 200,
			Summary: "Quote the price of an order", Handler: quoteOrder},
		{Method: get, Path: "/orders/stream", Realms: tenant, Permission: app.WatchOrders, Limit: perStream,
			Status: 200, Summary: "Stream order changes (server-sent events)", Handler: streamOrders},
		{Method: get, Path: "/orders/{id}", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Summary: "Get an order", Handler: getOrder},
		{Method: patch, Path: "/orders/{id}/status", Realms: tenant, Permission: app.WriteOrders, Status: 200,
			Summary: "Change an order's status", Handler: updateOrderStatus},
		{Method: get, Path: "/orders/{id}/history", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Summary: "List an order's status changes", Handler: listOrderChanges},
		{Method: get, Path: "/orders/{id}/deliveries", Realms: tenant, Permission: app.WatchOrders, Status: 200,
			Summary: "List the deliveries of an order's events", Handler: listOrderDeliveries},
		{Method: post, Path: "/orders/{id}/payments", Realms: tenant, Permission: app.WriteOrders, Idempotent: true,
			Status: 201, Summary: "Record a payment", Handler: recordPayment},
		{Method: get, Path: "/orders/{id}/payments", Realms: tenantOrCustomer, Permission: app.ViewOrders, Status: 200,
			Summary: "List an order's payments and refunds", Handler: listOrderPayments},

		{Method: get, Path: "/payments", Realms: tenant, Permission: app.ListPayments, Status: 200,
			Summary: "List payments", Handler: listPayments},
		{Method: post, Path: "/payments/{id}/refunds", Realms: tenant, Permission: app.RefundPayments, Idempotent: true,
			Status: 201, Summary: "Record a refund", Handler: recordRefund},

		{Method: get, Path: "/products", Realms: tenant, Permission: app.ViewProducts, Status: 200,
			Summary: "List products", Handler: listProducts},
		{Method: post, Path: "/products", Realms: tenant, Permission: app.WriteProducts, Idempotent: true, Status: 201,
			Summary: "Create a product", Handler: createProduct},
		{Method: post, Path: "/products/import", Realms: tenant, Permission: app.WriteProducts, Idempotent: true,
			Status: 200, Summary: "Import products as JSON or CSV", Handler: importProducts},
		{Method: get, Path: "/products/categories", Realms: tenant, Permission: app.ViewProducts, Status: 200,
			Summary: "List product categories", Handler: listCategories},
		{Method: get, Path: "/products/{id}", Realms: tenant, Permission: app.ViewProducts, Status: 200,
			Summary: "Get a product", Handler: getProduct},
		{Method: patch, Path: "/products/{id}", Realms: tenant, Permission: app.WriteProducts, Status: 200,
			Summary: "Update a product", Handler: updateProduct},
		{Method: post, Path: "/products/{id}/stock", Realms: tenant, Permission: app.WriteProducts, Idempotent: true,
			Status: 200, Summary: "Adjust or set the stock of a product", Handler: changeStock},
		{Method: del, Path: "/products/{id}", Realms: tenant, Permission: app.DeleteProducts, Status: 204,
			Summary: "Delete a product", Handler: deleteProduct},

		{Method: post, Path: "/reservations", Realms: tenant, Permission: app.WriteReservations, Idempotent: true,
			Status: 201, Summary: "Create a reservation", Handler: createReservation},
		{Method: get, Path: "/reservations", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Summary: "List reservations", Handler: listReservations},
		{Method: get, Path: "/reservations/seats", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Summary: "Get the reserved seats of a day", Handler: getSeats},
		{Method: get, Path: "/reservations/{id}", Realms: tenant, Permission: app.ViewReservations, Status: 200,
			Summary: "Get a reservation", Handler: getReservation},
		{Method: patch, Path: "/reservations/{id}", Realms: tenant, Permission: app.WriteReservations, Status: 200,
			Summary: "Update a reservation", Handler: updateReservation},
		{Method: del, Path: "/reservations/{id}", Realms: tenant, Permission: app.EraseReservations, Status: 204,
			Summary: "Erase a reservation's personal data", Handler: eraseReservation},
		{Method: patch, Path: "/reservations/{id}/status", Realms: tenant, Permission: app.WriteReservations,
			Status: 200, Summary: "Change a reservation's status", Handler: updateReservationStatus},

		{Method: get, Path: "/analytics/summary", Realms: tenant, Permission: app.ViewAnalytics, Status: 200,
			Summary: "Summarize the sales of a period", Handler: summarizeSales},
		{Method: get, Path: "/analytics/sales", Realms: tenant, Permission: app.ViewAnalytics, Status: 200,
			Summary: "List the sales of a period by hour, day, week or month", Handler: plotSales},
		{Method: get, Path: "/analytics/products", Realms: tenant, Permission: app.ViewAnalytics, Status: 200,
			Summary: "List the product sales of a period", Handler: listProductSales},
		{Method: get, Path: "/analytics/options", Realms: tenant, Permission: app.ViewAnalytics, Status: 200,
			Summary: "List the option sales of a period", Handler: listOptionSales},
		{Method: get, Path: "/analytics/customers", Realms: tenant, Permission: app.ViewAnalytics, Status: 200,
			Summary: "Count the customers and orders of a period", Handler: countCustomers},

		{Method: get, Path: "/settings", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Summary: "Get the store's settings", Handler: getSettings},
		{Method: patch, Path: "/settings", Realms: tenant, Permission: app.ManageSettings, Status: 200,
			Summary: "Update the store's settings", Handler: updateSettings},

		{Method: get, Path: "/website", Realms: tenant, Permission: app.ViewOwnWebsite, Status: 200,
			Summary: "Get the website of the active store", Handler: getWebsite},
		{Method: patch, Path: "/website", Realms: tenant, Permission: app.ChangeOwnWebsite, Status: 200,
			Summary: "Update the website of the active store", Handler: updateOwnWebsite},

		{Method: get, Path: "/billing", Realms: tenant, Permission: app.ManageBilling, Status: 200,
			Summary: "Get the plan and its usage", Handler: getBilling},
		{Method: patch, Path: "/billing", Realms: tenant, Permission: app.ManageBilling, Status: 200,
			Summary: "Change the plan", Handler: updateBilling},

		{Method: get, Path: "/customers", Realms: tenantOrCustomer, Permission: app.ViewCustomers, Status: 200,
			Summary: "List customers", Handler: listCustomers},
		{Method: get, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.ViewCustomers, Status: 200,
			Summary: "Get a customer", Handler: getCustomer},
		{Method: patch, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.WriteCustomers,
			Limit: perOwnChange, Status: 200, Summary: "Update a customer", Handler: updateCustomer},
		{Method: del, Path: "/customers/{id}", Realms: tenantOrCustomer, Permission: app.EraseCustomers, Status: 204,
			Summary: "Erase a customer's personal data", Handler: eraseCustomer},
		{Method: get, Path: "/customers/{id}/export", Realms: tenantOrCustomer, Permission: app.EraseCustomers,
			Status: 200, Summary: "Export a customer's data", Handler: exportCustomer},
		{Method: get, Path: "/customers/{id}/loyalty", Realms: tenantOrCustomer, Permission: app.ViewCustomers,
			Status: 200, Summary: "List a customer's loyalty entries", Handler: listLoyaltyEntries},
		{Method: get, Path: "/customers/{id}/addresses", Realms: tenantOrCustomer, Permission: app.ViewCustomers,
			Status: 200, Summary: "List a customer's addresses", Handler: listAddresses},
		{Method: post, Path: "/customers/{id}/addresses", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Idempotent: true, Status: 201, Summary: "Create an address", Handler: createAddress},
		{Method: patch, Path: "/customers/{id}/addresses/{addressId}", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Status: 200, Summary: "Update an address", Handler: updateAddress},
		{Method: del, Path: "/customers/{id}/addresses/{addressId}", Realms: customer, Permission: app.WriteAddresses,
			Limit: perOwnChange, Status: 204, Summary: "Delete an address", Handler: deleteAddress},

		{Method: post, Path: "/platform/websites", Realms: platform, Permission: app.ManageWebsites, Idempotent: true,
			Status: 201, Summary: "Create a website with its first store", Handler: createWebsite},
		{Method: get, Path: "/platform/websites", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Summary: "List websites", Handler: listWebsites},
		{Method: get, Path: "/platform/websites/{id}", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Summary: "Get a website with its stores and owners", Handler: getWebsiteDetails},
		{Method: post, Path: "/platform/websites/{id}/stores", Realms: platform, Permission: app.ManageWebsites,
			Idempotent: true, Status: 201, Summary: "Create a further store of a website", Handler: openStore},
		{Method: post, Path: "/platform/websites/{id}/invite-owner", Realms: platform, Permission: app.ManageWebsites,
			Limit: perMail, Idempotent: true, Status: 201, Summary: "Invite an owner of a website's store",
			Handler: inviteOwner},
		{Method: del, Path: "/platform/websites/{id}/invitations/{invitationId}", Realms: platform,
			Permission: app.ManageWebsites, Status: 204, Summary: "Withdraw an invitation of an owner",
			Handler: withdrawOwnerInvitation},
		{Method: get, Path: "/platform/audit", Realms: platform, Permission: app.ViewPlatformAudit, Status: 200,
			Summary: "List the platform's audit entries", Handler: listPlatformAuditEntries},
		{Method: patch, Path: "/platform/websites/{id}", Realms: platform, Permission: app.ManageWebsites, Status: 200,
			Summary: "Update a website", Handler: updateWebsite},
	}
}
