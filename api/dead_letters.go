package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var listDeadLetters = handle("listDeadLetters", (*Server).deadLetters)

type deadLettersIn struct {
	storeParam
	From *app.Time `query:"from"`
	To   *app.Time `query:"to"`
}

func (in deadLettersIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) deadLetters(ctx context.Context, c *call, in deadLettersIn) (list[app.DeadLetters, totalMeta], error) {
	groups, err := s.db.DeadLetters(ctx, c.principal.StoreID, in.From, in.To)
	return list[app.DeadLetters, totalMeta]{groups, totalMeta{len(groups), c.exchange.id}}, err
}
