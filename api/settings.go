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

type loyaltySettingsIn struct {
	MinorPerPoint amounts `json:"minorPerPoint" validate:"pointvalues"`
	MinPoints     *int64  `json:"minPoints" validate:"omitempty,leastpoints"`
}

type changeSettingsIn struct {
	IfMatch               etag               `header:"If-Match"`
	Timezone              *string            `json:"timezone" validate:"omitempty,timezone"`
	BusinessDayCutoffHour *int               `json:"businessDayCutoffHour" validate:"omitempty,min=0,max=23"`
	TaxRatePPM            *int64             `json:"taxRatePpm" validate:"omitempty,taxrate"`
	TaxIncluded           *bool              `json:"taxIncluded"`
	TaxDeliveryFee        *bool              `json:"taxDeliveryFee"`
	Fees                  amounts            `json:"deliveryFees" validate:"pricespatch"`
	Seats                 *int               `json:"seats" validate:"omitempty,min=0,max=100000"`
	ReservationMinutes    *int               `json:"reservationMinutes" validate:"omitempty,stay"`
	BookingLeadMinutes    *int               `json:"bookingLeadMinutes" validate:"omitempty,leadminutes"`
	BookingMaxDays        *int               `json:"bookingMaxDays" validate:"omitempty,min=1,max=730"`
	OpeningHours          hoursPatch         `json:"openingHours" validate:"max=3,dive,keys,enum,endkeys,omitempty"`
	Closures              *[]closureIn       `json:"closures" validate:"omitempty,max=100,each"`
	PrepMinutes           *prepMinutesIn     `json:"prepMinutes"`
	OrderLeadMinutes      *int               `json:"orderLeadMinutes" validate:"omitempty,leadminutes"`
	OrderMaxDays          *int               `json:"orderMaxDays" validate:"omitempty,min=0,max=365"`
	Acceptance            *acceptanceIn      `json:"acceptance"`
	RequireOTP            *bool              `json:"requireOtp"`
	LowerTotals           *app.LowerTotals   `json:"lowerTotals" validate:"omitempty,enum"`
	StaffMay              *[]app.StaffRight  `json:"staffMay" validate:"omitempty,staffrights"`
	Loyalty               *loyaltySettingsIn `json:"loyalty"`
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
	patch(&s.LowerTotals, in.LowerTotals)
	if in.StaffMay != nil {
		s.StaffMay = app.Granted(*in.StaffMay)
	}
	patch(&s.ReservationMinutes, in.ReservationMinutes)
	patch(&s.BookingLeadMinutes, in.BookingLeadMinutes)
	patch(&s.BookingMaxDays, in.BookingMaxDays)
	if in.Loyalty != nil {
		s.Loyalty.MinorPerPoint = patchEach(s.Loyalty.MinorPerPoint, in.Loyalty.MinorPerPoint,
			func(_, worth int64) int64 { return worth })
		patch(&s.Loyalty.MinPoints, in.Loyalty.MinPoints)
	}
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
