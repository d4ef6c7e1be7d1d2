package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type reservationOut struct {
	app.Reservation
	AllowedTransitions []app.ReservationStatus `json:"allowedTransitions"` // what the caller can make of it next
}

func reservationFor(caller app.Principal, r app.Reservation) reservationOut {
	out := reservationOut{Reservation: r}
	if caller.Can(app.WriteReservations) == nil {
		out.AllowedTransitions = r.Status.Transitions()
	}
	return out
}

type createReservationIn struct {
	StoreID         app.StoreID    `json:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	CustomerID      app.CustomerID `json:"customerId" validate:"omitempty,id" description:"A customer of the store. Either this or customer is given."`
	Customer        *guestIn       `json:"customer" description:"Somebody else. Either this or customerId is given."`
	PartySize       int            `json:"partySize" validate:"required,min=1,max=500" example:"4"`
	StartAt         *app.Time      `json:"startAt" validate:"required" example:"2026-03-14T19:30:00+01:00" description:"With an offset, or in UTC. Within the store's booking window, whoever reserves."`
	DurationMinutes *int           `json:"durationMinutes" validate:"omitempty,min=15,max=1440" description:"The store's reservationMinutes by default."`
	Notes           string         `json:"notes" validate:"max=1000" example:"A high chair, please."`
}

func (in createReservationIn) check() []app.Detail {
	if (in.CustomerID == "") == (in.Customer == nil) {
		return []app.Detail{{Path: "customerId", Message: "or customer is required, and not both"}}
	}
	return nil
}

func (in createReservationIn) reservation() app.NewReservation {
	wanted := app.NewReservation{CustomerID: in.CustomerID, PartySize: in.PartySize, StartAt: *in.StartAt, Notes: in.Notes}
	if in.Customer != nil {
		wanted.Guest = app.ReservationCustomer{Name: in.Customer.Name, Email: in.Customer.Email, Phone: in.Customer.Phone}
	}
	patch(&wanted.Minutes, in.DurationMinutes)
	return wanted
}

func (s *Server) createReservation(ctx context.Context, c *call, in createReservationIn) (reservationOut, error) {
	answer := func(made app.Reservation) any { return stored{reservationFor(c.principal, made)} }
	made, err := s.db.Reserve(ctx, c.now, c.principal.StoreID, in.reservation(), c.once, answer)
	return reservationFor(c.principal, made), err
}

type reservationsIn struct {
	StoreID    app.StoreID             `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Status     []app.ReservationStatus `query:"status" validate:"max=10,dive,enum" description:"Any of those given."`
	From       *app.Time               `query:"from" description:"Begins at that time or later."`
	To         *app.Time               `query:"to" description:"Begins before that time."`
	Date       string                  `query:"date" validate:"omitempty,date" description:"Begins on that day in the store's time zone."`
	Overlaps   string                  `query:"overlapsDate" validate:"omitempty,date" description:"Begins on that day in the store's time zone, or the day before and goes on."`
	CustomerID app.CustomerID          `query:"customerId" validate:"omitempty,id"`
	Query      string                  `query:"q" validate:"max=200" description:"The beginning of the name, the last name, the e-mail address or the phone number, in any case."`
	Limit      int                     `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor     string                  `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

func (in reservationsIn) check() []app.Detail {
	if in.From != nil && in.To != nil && !in.From.Before(in.To.Time) {
		return []app.Detail{{Path: "to", Message: "must be after from"}}
	}
	return nil
}

func (s *Server) reservations(ctx context.Context, c *call, in reservationsIn) (list[reservationOut, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[reservationOut, cursorMeta]{}, err
	}
	filter := app.ReservationFilter{Statuses: in.Status, From: in.From, To: in.To, Date: in.Date, Overlaps: in.Overlaps, CustomerID: in.CustomerID, Query: in.Query}
	found, err := s.db.Reservations(ctx, c.principal.StoreID, filter, timeCursor(position), in.Limit+1)
	rows := make([]reservationOut, len(found))
	for i, r := range found {
		rows[i] = reservationFor(c.principal, r)
	}
	return paged(s, c, rows, in.Limit, func(r reservationOut) string { return timePosition(r.StartAt, string(r.ID)) }), err
}

type reservationIn struct {
	ID app.ReservationID `path:"id"`
}

func (s *Server) reservation(ctx context.Context, c *call, in reservationIn) (reservationOut, error) {
	r, err := s.db.Reservation(ctx, c.principal.StoreID, in.ID)
	return reservationFor(c.principal, r), err
}

type changeReservationStatusIn struct {
	ID                 app.ReservationID     `path:"id"`
	IfMatch            etag                  `header:"If-Match" description:"The version, in double quotes, that the reservation must still have."`
	Status             app.ReservationStatus `json:"status" validate:"required,enum"`
	CancellationReason string                `json:"cancellationReason" validate:"omitempty,notblank,max=500" description:"For CANCELLED only."`
}

func (in changeReservationStatusIn) check() []app.Detail {
	if in.Status != app.ReservationCancelled && in.CancellationReason != "" {
		return []app.Detail{{Path: "cancellationReason", Message: "is for CANCELLED only"}}
	}
	return nil
}

func (s *Server) changeReservationStatus(ctx context.Context, c *call, in changeReservationStatusIn) (reservationOut, error) {
	change := app.ReservationStatusChange{To: in.Status, Reason: in.CancellationReason, By: c.actor()}
	r, err := s.db.ChangeReservationStatus(ctx, c.now, c.principal.StoreID, in.ID, in.IfMatch.version(), change)
	return reservationFor(c.principal, r), err
}

type seatsIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Date    string      `query:"date" validate:"required,date" description:"A day in the store's time zone."`
}

func (s *Server) seatsOfDay(ctx context.Context, c *call, in seatsIn) (app.SeatsOfDay, error) {
	return s.db.SeatsOfDay(ctx, c.principal.StoreID, in.Date)
}
