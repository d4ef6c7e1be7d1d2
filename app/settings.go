package app

import (
	"encoding/json"
	"reflect"
	"slices"
)

// Settings is the configuration of a store (docs/behaviour.md#settings). A change does not affect dates and prices that
// were recorded before it.
type Settings struct {
	Timezone string `json:"timezone"` // IANA name
	// hour at which a business day begins, 0 to 23; orders before this hour count toward the previous business day
	BusinessDayCutoffHour int   `json:"businessDayCutoffHour"`
	TaxRatePPM            int64 `json:"taxRatePpm"`     // default for products without a tax rate; parts per million
	TaxIncluded           bool  `json:"taxIncluded"`    // prices include tax
	TaxDeliveryFee        bool  `json:"taxDeliveryFee"` // the delivery fee is taxed at taxRatePpm
	// minor units by currency; currencies that are not listed have no delivery fee
	DeliveryFees       map[Currency]int64 `json:"deliveryFees"`
	Seats              int                `json:"seats"`              // maximum number of simultaneous guests
	ReservationMinutes int                `json:"reservationMinutes"` // default duration of a reservation
	BookingLeadMinutes int                `json:"bookingLeadMinutes"` // minimum time from booking to start
	BookingMaxDays     int                `json:"bookingMaxDays"`     // maximum number of days from booking to start
	// weekly hours by fulfillment type; a type without spans is always open
	OpeningHours     OpeningHours            `json:"openingHours"`
	Closures         []Closure               `json:"closures"`         // days without opening hours
	PrepMinutes      map[FulfillmentType]int `json:"prepMinutes"`      // from an order to its promised time
	OrderLeadMinutes int                     `json:"orderLeadMinutes"` // minimum time from order to requestedFor
	OrderMaxDays     int                     `json:"orderMaxDays"`     // maximum days from order to requestedFor
	Acceptance       Acceptance              `json:"acceptance"`
	RequireOTP       bool                    `json:"requireOtp"` // members need one-time passwords
	LowerTotals      LowerTotals             `json:"lowerTotals"`
	StaffMay         []StaffRight            `json:"staffMay"` // in the order of [StaffRights]
	Loyalty          Loyalty                 `json:"loyalty"`
	Version          int64                   `json:"version"`
}

// Acceptance holds the deadlines for accepting an order that an API key placed (docs/behaviour.md#acceptance); 0 =
// none.
type Acceptance struct {
	RemindAfterMinutes int `json:"remindAfterMinutes"` // the store is reminded of an order in RECEIVED
	CancelAfterMinutes int `json:"cancelAfterMinutes"` // an order in RECEIVED is cancelled
}

// LowerTotals is the lowest role of users that may lower the total of an order that the store has accepted.
type LowerTotals string

const (
	StaffLowerTotals   LowerTotals = "STAFF"
	ManagerLowersTotal LowerTotals = "MANAGER"
)

// Granted returns the rights in the order of [StaffRights], never nil.
func Granted(rights []StaffRight) []StaffRight {
	granted := []StaffRight{}
	for _, right := range StaffRights {
		if slices.Contains(rights, right) {
			granted = append(granted, right)
		}
	}
	return granted
}

// SettingsChange is the change of one setting.
type SettingsChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Changes returns the settings that differ in other, by JSON name. It ignores the version.
func (s Settings) Changes(other Settings) map[string]SettingsChange {
	other.Version = s.Version
	before, after := membersOf(s), membersOf(other)
	changes := map[string]SettingsChange{}
	for name, from := range before {
		if to := after[name]; !reflect.DeepEqual(from, to) {
			changes[name] = SettingsChange{from, to}
		}
	}
	return changes
}

// Check returns VALIDATION_FAILED if the settings contradict each other.
func (s Settings) Check() error {
	if s.BookingLeadMinutes >= s.BookingMaxDays*minutesPerDay {
		return Invalid("bookingLeadMinutes", "must be less than bookingMaxDays; otherwise no time can be reserved")
	}
	// With orderMaxDays 0, the store does not take orders for later.
	if s.OrderMaxDays > 0 && s.OrderLeadMinutes >= s.OrderMaxDays*minutesPerDay {
		return Invalid("orderLeadMinutes", "must be less than orderMaxDays; otherwise no time can be requested")
	}
	if a := s.Acceptance; a.CancelAfterMinutes > 0 && a.CancelAfterMinutes <= a.RemindAfterMinutes {
		return Invalid("acceptance.cancelAfterMinutes", "must be greater than remindAfterMinutes, or 0")
	}
	if faults := s.OpeningHours.check(); len(faults) > 0 {
		return InvalidAll(faults)
	}
	return nil
}

func membersOf(s Settings) map[string]any {
	if s.DeliveryFees == nil {
		s.DeliveryFees = map[Currency]int64{}
	}
	if s.OpeningHours == nil {
		s.OpeningHours = OpeningHours{}
	}
	if s.Closures == nil {
		s.Closures = []Closure{}
	}
	if s.Loyalty.MinorPerPoint == nil {
		s.Loyalty.MinorPerPoint = map[Currency]int64{}
	}
	if s.StaffMay == nil {
		s.StaffMay = []StaffRight{}
	}
	encoded, err := json.Marshal(s)
	members := map[string]any{}
	if err == nil {
		err = json.Unmarshal(encoded, &members)
	}
	if err != nil {
		panic(err) // impossible: every field has a JSON representation
	}
	return members
}
