package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of seats.
var (
	getSeats  = handle("getSeats", (*Server).seatsOfDay)
	listSlots = handle("listReservationSlots", (*Server).slots, app.CodeNotFound)
)

type seatsIn struct {
	storeParam
	Date string `query:"date" validate:"required,date"`
}

func (s *Server) seatsOfDay(ctx context.Context, c *call, in seatsIn) (app.SeatsOfDay, error) {
	return s.db.SeatsOfDay(ctx, c.principal.StoreID, in.Date)
}

type slotsIn struct {
	storeParam
	Date            string            `query:"date" validate:"required,date"`
	PartySize       int               `query:"partySize" validate:"required,partysize"`
	DurationMinutes *int              `query:"durationMinutes" validate:"omitempty,stay"`
	Except          app.ReservationID `query:"exceptReservationId" validate:"omitempty,id"`
}

func (s *Server) slots(ctx context.Context, c *call, in slotsIn) (list[app.Slot, totalMeta], error) {
	q := app.SlotQuery{Date: in.Date, PartySize: in.PartySize, Except: in.Except}
	patch(&q.Minutes, in.DurationMinutes)
	found, err := s.db.Slots(ctx, c.now, c.principal.StoreID, c.actor(), q)
	return list[app.Slot, totalMeta]{found, totalMeta{Total: len(found), RequestID: c.exchange.id}}, err
}
