package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of settings.
var (
	getSettings    = handle("getSettings", (*Server).settings)
	updateSettings = handle("updateSettings", (*Server).changeSettings, app.CodeConflict)
)

func (s *Server) settings(ctx context.Context, c *call, _ storeParam) (app.Settings, error) {
	settings, err := s.db.Settings(ctx, c.principal.StoreID)
	settings.RequireOTP = c.principal.RequireOTP // a sandbox has that of its live store
	return settings, err
}

type changeSettingsIn struct {
	// The version, in double quotes, that the settings must still have.
	IfMatch etag `header:"If-Match"`
	// An IANA name. Earlier business dates do not change.
	Timezone *string `json:"timezone" validate:"omitempty,timezone" example:"Europe/Berlin"`
	// Orders before this hour count toward the previous business day.
	BusinessDayCutoffHour *int `json:"businessDayCutoffHour" validate:"omitempty,min=0,max=23"`
	// Parts per million, for products without their own rate.
	TaxRatePPM *int64 `json:"taxRatePpm" validate:"omitempty,taxrate" example:"190000"`
	// Prices contain the tax.
	TaxIncluded *bool `json:"taxIncluded"`
	// The delivery fee is taxed at taxRatePpm.
	TaxDeliveryFee *bool `json:"taxDeliveryFee"`
	// In minor units, by currency. Omitted currencies stay as they are; null removes a currency.
	Fees amounts `json:"deliveryFees" validate:"pricespatch"`
	// The number of guests that reservations can have at the same time. Existing reservations stay.
	Seats *int `json:"seats" validate:"omitempty,min=0,max=100000"`
	// The duration of a reservation without durationMinutes.
	ReservationMinutes *int `json:"reservationMinutes" validate:"omitempty,stay"`
	// The number of minutes before its start until which a reservation can be made.
	BookingLeadMinutes *int `json:"bookingLeadMinutes" validate:"omitempty,leadminutes"`
	// The number of days before its start from which a reservation can be made.
	BookingMaxDays *int `json:"bookingMaxDays" validate:"omitempty,min=1,max=730"`
	// By fulfillment type and weekday, in the store's time zone. Omitted types and weekdays stay as they are. null or
	// no spans closes a weekday; null for a type removes its hours. A type without any span is always open.
	OpeningHours hoursPatch `json:"openingHours" validate:"dive,keys,enum,endkeys,omitempty"`
	// Replaces all closures. A span that begins on a day of a closure does not take place.
	Closures *[]closureIn `json:"closures" validate:"omitempty,max=100,dive"`
	// The time from an order to its promised time. Omitted types stay as they are.
	PrepMinutes *prepMinutesIn `json:"prepMinutes"`
	// The minimum number of minutes from an order to its requestedFor.
	OrderLeadMinutes *int `json:"orderLeadMinutes" validate:"omitempty,leadminutes"`
	// The maximum number of days from an order to its requestedFor; 0 = no orders for later.
	OrderMaxDays *int `json:"orderMaxDays" validate:"omitempty,min=0,max=365"`
	// Deadlines for accepting an order of an API key. Omitted members stay as they are.
	Acceptance *acceptanceIn `json:"acceptance"`
	// Members without one-time passwords are refused with OTP_SETUP_REQUIRED. Only an OWNER who has one-time passwords
	// can change it, and only in the live store; it also applies to the sandbox.
	RequireOTP *bool `json:"requireOtp"`
}

// apply applies the merge patch to settings.
func (in changeSettingsIn) apply(s *app.Settings) error {
	patch(&s.Timezone, in.Timezone)
	patch(&s.BusinessDayCutoffHour, in.BusinessDayCutoffHour)
	patch(&s.TaxRatePPM, in.TaxRatePPM)
	patch(&s.TaxIncluded, in.TaxIncluded)
	patch(&s.TaxDeliveryFee, in.TaxDeliveryFee)
	s.DeliveryFees = patchEach(s.DeliveryFees, in.Fees, func(_, fee int64) int64 { return fee })
	patch(&s.Seats, in.Seats)
	patch(&s.ReservationMinutes, in.ReservationMinutes)
	patch(&s.BookingLeadMinutes, in.BookingLeadMinutes)
	patch(&s.BookingMaxDays, in.BookingMaxDays)
	in.applyHours(s)
	return s.Check()
}

func (s *Server) changeSettings(ctx context.Context, c *call, in changeSettingsIn) (app.Settings, error) {
	change := func(settings *app.Settings) error {
		if err := in.apply(settings); err != nil {
			return err
		}
		return in.applyRequireOTP(settings, c.principal)
	}
	changed, err := s.db.ChangeSettings(ctx, c.now, c.principal.StoreID, c.actor(), in.IfMatch.version(), change)
	if c.principal.Sandbox {
		changed.RequireOTP = c.principal.RequireOTP
	}
	return changed, err
}

// applyRequireOTP changes the requirement of one-time passwords. The OWNER must use them, so that the change does not
// lock the OWNER out.
func (in changeSettingsIn) applyRequireOTP(settings *app.Settings, p app.Principal) error {
	current := settings.RequireOTP
	if p.Sandbox {
		current = p.RequireOTP
	}
	switch {
	case in.RequireOTP == nil || *in.RequireOTP == current:
		return nil
	case p.Role != app.RoleOwner:
		return app.Errorf(app.CodeInsufficientRole, "only an OWNER can change requireOtp")
	case p.Sandbox:
		return app.Errorf(app.CodeConflict, "a sandbox has the requireOtp of its live store; change it there")
	case !p.OTP:
		return app.Errorf(app.CodeConflict, "switch on your own one-time passwords first, with POST /auth/otp")
	}
	settings.RequireOTP = *in.RequireOTP
	return nil
}
