package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of the website of the active store.
var (
	getWebsite       = handle("getWebsite", (*Server).ownWebsite)
	updateOwnWebsite = handle("updateOwnWebsite", (*Server).changeOwnWebsite, app.CodeConflict)
)

// clientIDsIn has the lists to replace. An absent list stays as it is.
type clientIDsIn struct {
	Google   []string `json:"google" validate:"omitempty,clientids"`
	Apple    []string `json:"apple" validate:"omitempty,clientids"`
	Facebook []string `json:"facebook" validate:"omitempty,clientids"`
}

// ownWebsiteOut is a website as its users see it.
type ownWebsiteOut struct {
	ID     app.WebsiteID `json:"id"`
	Name   string        `json:"name"`
	Domain string        `json:"domain"`
	Social app.ClientIDs `json:"social"`
}

func newOwnWebsiteOut(w app.Website) ownWebsiteOut {
	return ownWebsiteOut{w.ID, w.Name, w.Domain, w.Social}
}

func (s *Server) ownWebsite(ctx context.Context, c *call, _ noIn) (ownWebsiteOut, error) {
	website, err := s.db.Website(ctx, c.principal.WebsiteID)
	return newOwnWebsiteOut(website), err
}

type changeOwnWebsiteIn struct {
	Social clientIDsIn `json:"social"`
}

func (s *Server) changeOwnWebsite(ctx context.Context, c *call, in changeOwnWebsiteIn) (ownWebsiteOut, error) {
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return ownWebsiteOut{}, err
	}
	website, err := s.db.ChangeClientIDs(ctx, c.now, c.actor(), c.principal.WebsiteID, app.ClientIDs(in.Social))
	return newOwnWebsiteOut(website), err
}
