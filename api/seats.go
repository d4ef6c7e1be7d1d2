package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var getSeats = handle("getSeats", (*Server).seatsOfDay)

type seatsIn struct {
	storeParam
	Date string `query:"date" validate:"required,date"`
}

func (s *Server) seatsOfDay(ctx context.Context, c *call, in seatsIn) (app.SeatsOfDay, error) {
	return s.db.SeatsOfDay(ctx, c.principal.StoreID, in.Date)
}
