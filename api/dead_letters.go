package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type deadLettersIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	From    *app.Time   `query:"from" description:"Deliveries made at that time or later."`
	To      *app.Time   `query:"to" description:"Deliveries made before that time."`
}

func (in deadLettersIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) deadLetters(ctx context.Context, c *call, in deadLettersIn) (list[app.DeadLetters, totalMeta], error) {
	groups, err := s.db.DeadLetters(ctx, c.principal.StoreID, in.From, in.To)
	return list[app.DeadLetters, totalMeta]{groups, totalMeta{len(groups), c.exchange.id}}, err
}
