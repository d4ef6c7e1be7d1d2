package app

import "time"

// StoreView is a combination of a locale and a currency in which a store offers its products.
type StoreView struct {
	ID        StoreViewID `json:"id"`
	Code      string      `json:"code"`   // language_country, for example "en_us"
	Locale    string      `json:"locale"` // BCP 47 tag
	Currency  Currency    `json:"currency"`
	IsDefault bool        `json:"isDefault"`
}

// StoreEntry is a store of which a user is a member, as returned at login (docs/behaviour.md#active-store).
type StoreEntry struct {
	StoreID       StoreID     `json:"storeId"`
	StoreName     string      `json:"storeName"`
	WebsiteID     WebsiteID   `json:"websiteId"`
	WebsiteName   string      `json:"websiteName"`
	WebsiteDomain string      `json:"websiteDomain"`
	Role          Role        `json:"role"`
	CountryCode   string      `json:"countryCode"` // ISO 3166-1 alpha-2
	SandboxOf     *StoreID    `json:"sandboxOf"`   // the live store of a sandbox; null for a live store
	StoreViews    []StoreView `json:"storeViews"`
}

// StoreContext is the active store of a session, with its default view or the view that the session selected.
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

// Store is the active store of a principal (docs/behaviour.md#active-store).
type Store struct {
	StoreID       StoreID     `json:"storeId"`
	StoreName     string      `json:"storeName"`
	WebsiteID     WebsiteID   `json:"websiteId"`
	WebsiteName   string      `json:"websiteName"`
	WebsiteDomain string      `json:"websiteDomain"`
	CountryCode   string      `json:"countryCode"` // ISO 3166-1 alpha-2
	Timezone      string      `json:"timezone"`    // IANA name
	Mode          KeyMode     `json:"mode"`        // test for a sandbox
	SandboxOf     *StoreID    `json:"sandboxOf"`   // the live store of a sandbox; null for a live store
	StoreViews    []StoreView `json:"storeViews"`
	Role          Role        `json:"role,omitempty"`  // of the user; absent for API keys
	Scopes        []Scope     `json:"scopes,omitzero"` // of the API key; absent for users

	StaffMay []StaffRight `json:"staffMay"` // as in the settings
	Loyalty  Loyalty      `json:"loyalty"`  // as in the settings

	BusinessDayCutoffHour int `json:"businessDayCutoffHour"` // local hour at which a business day begins

	OpenNow             bool  `json:"openNow"`             // for at least one fulfillment type
	NextOpenAt          *Time `json:"nextOpenAt"`          // null if open now, or unknown within 366 days
	OrderingPausedUntil *Time `json:"orderingPausedUntil"` // null unless ordering is paused
	// by fulfillment type; a type without opening hours is always open
	Hours map[FulfillmentType]OpenState `json:"hours"`

	OpeningHours OpeningHours `json:"openingHours"` // as in the settings
	Closures     []Closure    `json:"closures"`
}

// Open returns the store with its opening state at a time.
func (s Store) Open(hours Hours, at time.Time) Store {
	state := hours.State(at, FulfillmentTypes[:]...)
	s.OpenNow, s.NextOpenAt, s.OrderingPausedUntil = state.OpenNow, state.NextOpenAt, nil
	if hours.Paused(at) {
		until := At(hours.PausedUntil)
		s.OrderingPausedUntil = &until
	}
	s.Hours = map[FulfillmentType]OpenState{}
	for _, of := range FulfillmentTypes {
		s.Hours[of] = hours.State(at, of)
	}
	s.OpeningHours, s.Closures = hours.Opening, hours.Closures
	return s
}

// MaxPause is the maximum duration of a pause of ordering.
const MaxPause = 7 * 24 * time.Hour

// CheckPause returns VALIDATION_FAILED unless ordering can be paused until a time.
func CheckPause(now, until time.Time) error {
	switch {
	case !until.After(now):
		return Invalid("until", "must be in the future")
	case until.After(now.Add(MaxPause)):
		return Invalid("until", "must be at most seven days ahead")
	}
	return nil
}

// As returns the store as a principal sees it.
func (s Store) As(p Principal) Store {
	s.Role, s.Scopes = p.Role, p.Scopes
	return s
}

// StoreChange is a requested change of a store. A nil field is not changed.
type StoreChange struct {
	Name        *string
	CountryCode *string
}

// StoreViewChange is a requested change of a store view. A nil field is not changed.
type StoreViewChange struct {
	Code      *string
	Locale    *string
	Currency  *Currency
	IsDefault *bool
}

// Limits of stores.
const (
	MaxStores     = 100 // live stores of a website
	MaxStoreViews = 20  // of a store
)
