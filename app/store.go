package app

// StoreView is a language and a currency in which a store shows itself.
type StoreView struct {
	ID        StoreViewID `json:"id"`
	Code      string      `json:"code"`   // language_country, "en_us"
	Locale    string      `json:"locale"` // BCP 47
	Currency  Currency    `json:"currency"`
	IsDefault bool        `json:"isDefault"`
}

// StoreEntry is a store in which a user works, as login returns it.
type StoreEntry struct {
	StoreID       StoreID     `json:"storeId"`
	StoreName     string      `json:"storeName"`
	WebsiteID     WebsiteID   `json:"websiteId"`
	WebsiteName   string      `json:"websiteName"`
	WebsiteDomain string      `json:"websiteDomain"`
	Role          Role        `json:"role"`
	CountryCode   string      `json:"countryCode"` // ISO 3166-1 alpha-2
	StoreViews    []StoreView `json:"storeViews"`
}

// StoreContext is the active store of a session (spec, GET /auth/me).
type StoreContext struct {
	StoreID     StoreID   `json:"storeId"`
	StoreName   string    `json:"storeName"`
	WebsiteID   WebsiteID `json:"websiteId"`
	Role        Role      `json:"role"`
	CountryCode string    `json:"countryCode"`
	Locale      string    `json:"locale"`
	Currency    Currency  `json:"currency"`
	Timezone    string    `json:"timezone"` // IANA name
}
