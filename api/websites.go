package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type websitesIn struct {
	Limit  int    `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor string `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) websites(ctx context.Context, c *call, in websitesIn) (list[app.Website, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Website, cursorMeta]{}, err
	}
	found, err := s.db.Websites(ctx, app.WebsiteID(after), in.Limit+1)
	return paged(s, c, found, in.Limit, func(w app.Website) string { return string(w.ID) }), err
}

type changeWebsiteIn struct {
	ID        app.WebsiteID `path:"id"`
	Plan      *app.Plan     `json:"plan" validate:"omitempty,enum"`
	Suspended *bool         `json:"suspended" description:"As long as it is true, nobody can log in to the website's stores, and their tokens and API keys are refused with TOKEN_REVOKED."`
}

func (s *Server) changeWebsite(ctx context.Context, c *call, in changeWebsiteIn) (app.Website, error) {
	return s.db.ChangeWebsite(ctx, c.now, in.ID, app.WebsiteChange{Plan: in.Plan, Suspended: in.Suspended})
}
