package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var listLoyaltyEntries = handle("listLoyaltyEntries", (*Server).loyalty)

type loyaltyIn struct {
	ID app.CustomerID `path:"id"`
	pageParams
}

func (s *Server) loyalty(ctx context.Context, c *call, in loyaltyIn) (list[app.LoyaltyEntry, cursorMeta], error) {
	none := list[app.LoyaltyEntry, cursorMeta]{}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return none, err
	}
	if err := c.isOwn(in.ID); err != nil {
		return none, err
	}
	found, err := s.db.LoyaltyEntries(ctx, c.principal.StoreID, in.ID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(e app.LoyaltyEntry) string {
		return timePosition(e.CreatedAt, string(e.ID))
	}), err
}
