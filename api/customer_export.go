package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var exportCustomer = handle("exportCustomer", (*Server).exportCustomer)

// exportCustomer returns everything that is kept about a customer.
func (s *Server) exportCustomer(ctx context.Context, c *call, in customerIn) (app.CustomerExport, error) {
	if err := c.isOwn(in.ID); err != nil {
		return app.CustomerExport{}, err
	}
	export, err := s.db.ExportCustomer(ctx, c.principal.StoreID, in.ID)
	if c.principal.Realm == app.RealmCustomer { // customers cannot read references
		export = export.Own()
	}
	return export, err
}
