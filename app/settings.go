package app

import (
	"encoding/json"
	"reflect"
)

// Settings is what a store decides about itself (contract §5). What was stamped or priced
// before a change stays as it was.
type Settings struct {
	Timezone              string             `json:"timezone"`              // IANA name
	BusinessDayCutoffHour int                `json:"businessDayCutoffHour"` // 0 to 23; what happens before this hour counts to the day before
	TaxRatePPM            int64              `json:"taxRatePpm"`            // parts per million, for products without a rate of their own
	TaxIncluded           bool               `json:"taxIncluded"`           // prices contain the tax
	TaxDeliveryFee        bool               `json:"taxDeliveryFee"`        // the fee is taxed at taxRatePpm
	DeliveryFees          map[Currency]int64 `json:"deliveryFees"`          // in minor units, by currency; none where there is none
	Seats                 int                `json:"seats"`                 // how many guests can be reserved for at once
	ReservationMinutes    int                `json:"reservationMinutes"`    // how long a reservation lasts that does not say it
	BookingLeadMinutes    int                `json:"bookingLeadMinutes"`    // how long before its start a reservation must be made
	BookingMaxDays        int                `json:"bookingMaxDays"`        // how many days before its start a reservation can be made
	Version               int64              `json:"version"`
}

// SettingsChange is what became of one member.
type SettingsChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// Changes returns what differs in another state of the settings but the version, by member.
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

// Check returns what is wrong with the settings as a whole, nil if nothing is.
func (s Settings) Check() error {
	const minutesPerDay = 24 * 60
	if s.BookingLeadMinutes >= s.BookingMaxDays*minutesPerDay {
		return Invalid("bookingLeadMinutes", "must be less than bookingMaxDays, or nothing could be reserved")
	}
	return nil
}

func membersOf(s Settings) map[string]any {
	if s.DeliveryFees == nil {
		s.DeliveryFees = map[Currency]int64{}
	}
	encoded, err := json.Marshal(s)
	members := map[string]any{}
	if err == nil {
		err = json.Unmarshal(encoded, &members)
	}
	if err != nil {
		panic(err) // there is nothing in it that JSON does not have
	}
	return members
}
