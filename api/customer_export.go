package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var exportCustomer = handle("exportCustomer", (*Server).exportCustomer).documented(success[app.CustomerExport]{})

// exportCustomer streams everything that is kept about a customer.
func (s *Server) exportCustomer(ctx context.Context, c *call, in customerIn) (written, error) {
	if err := c.isOwn(in.ID); err != nil {
		return written{}, err
	}
	return written{}, export(ctx, s, c, func(ctx context.Context, write func(app.CustomerExport) error) error {
		return s.db.ExportCustomer(ctx, c.principal.StoreID, in.ID, func(part app.CustomerExport) error {
			if c.principal.Realm == app.RealmCustomer { // customers cannot read references
				part = part.Own()
			}
			return write(part)
		})
	})
}
