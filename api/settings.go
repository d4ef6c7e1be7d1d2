package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type settingsIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
}

func (s *Server) settings(ctx context.Context, c *call, _ settingsIn) (app.Settings, error) {
	return s.db.Settings(ctx, c.principal.StoreID)
}

type changeSettingsIn struct {
	IfMatch               etag                    `header:"If-Match" description:"The version, in double quotes, that the settings must still have."`
	Timezone              *string                 `json:"timezone" validate:"omitempty,timezone" example:"Europe/Berlin" description:"An IANA name. Business dates of before stay as they are."`
	BusinessDayCutoffHour *int                    `json:"businessDayCutoffHour" validate:"omitempty,min=0,max=23" description:"What happens before this hour counts to the day before."`
	TaxRatePPM            *int64                  `json:"taxRatePpm" validate:"omitempty,min=0,max=1000000" example:"190000" description:"Parts per million, for products without a rate of their own."`
	TaxIncluded           *bool                   `json:"taxIncluded" description:"Prices contain the tax."`
	TaxDeliveryFee        *bool                   `json:"taxDeliveryFee" description:"The delivery fee is taxed at taxRatePpm."`
	DeliveryFees          map[app.Currency]*int64 `json:"deliveryFees" validate:"max=200,dive,keys,currency,endkeys,omitempty,min=0,max=1000000000000" description:"In minor units, by currency. Those that are not named stay; null takes one out."`
	Seats                 *int                    `json:"seats" validate:"omitempty,min=0,max=100000" description:"How many guests can be reserved for at once. Reservations of before stand."`
	ReservationMinutes    *int                    `json:"reservationMinutes" validate:"omitempty,min=15,max=1440" description:"How long a reservation lasts that does not say it."`
	BookingLeadMinutes    *int                    `json:"bookingLeadMinutes" validate:"omitempty,min=0,max=43200" description:"How long before its start a reservation must be made."`
	BookingMaxDays        *int                    `json:"bookingMaxDays" validate:"omitempty,min=1,max=730" description:"How many days before its start a reservation can be made."`
}

// apply is the merge patch.
func (in changeSettingsIn) apply(s *app.Settings) error {
	patch(&s.Timezone, in.Timezone)
	patch(&s.BusinessDayCutoffHour, in.BusinessDayCutoffHour)
	patch(&s.TaxRatePPM, in.TaxRatePPM)
	patch(&s.TaxIncluded, in.TaxIncluded)
	patch(&s.TaxDeliveryFee, in.TaxDeliveryFee)
	s.DeliveryFees = patchEach(s.DeliveryFees, in.DeliveryFees, func(_, fee int64) int64 { return fee })
	patch(&s.Seats, in.Seats)
	patch(&s.ReservationMinutes, in.ReservationMinutes)
	patch(&s.BookingLeadMinutes, in.BookingLeadMinutes)
	patch(&s.BookingMaxDays, in.BookingMaxDays)
	return s.Check()
}

func (s *Server) changeSettings(ctx context.Context, c *call, in changeSettingsIn) (app.Settings, error) {
	return s.db.ChangeSettings(ctx, c.now, c.principal.StoreID, c.actor(), in.IfMatch.version(), in.apply)
}
