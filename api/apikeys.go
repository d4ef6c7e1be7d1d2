package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of API keys.
var (
	createAPIKey = handle("createAPIKey", (*Server).createAPIKey, app.CodeLimitReached)
	listAPIKeys  = handle("listAPIKeys", (*Server).apiKeys)
	revokeAPIKey = handle("revokeAPIKey", (*Server).revokeAPIKey)
)

type createAPIKeyIn struct {
	Name   string      `json:"name" validate:"required,notblank,max=100"`
	Scopes []app.Scope `json:"scopes" validate:"required,scopes"`
	Mode   app.KeyMode `json:"mode" validate:"omitempty,enum"`
}

type apiKeyOut struct {
	app.APIKey
	Key string `json:"key,omitempty"`
}

// createAPIKey shows the key once. The response to a repeated request omits it.
func (s *Server) createAPIKey(ctx context.Context, c *call, in createAPIKeyIn) (apiKeyOut, error) {
	issued, err := s.db.CreateAPIKey(ctx, c.now, c.principal, c.actor(),
		app.NewAPIKey{Name: in.Name, Scopes: in.Scopes, Mode: in.Mode}, c.once)
	return apiKeyOut{APIKey: issued.APIKey, Key: issued.Key.Reveal()}, err
}

type apiKeysIn struct {
	storeParam
	pageParams
}

func (s *Server) apiKeys(ctx context.Context, c *call, in apiKeysIn) (list[app.APIKey, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.APIKey, cursorMeta]{}, err
	}
	found, err := s.db.APIKeys(ctx, c.principal.StoreID, app.APIKeyID(after), in.Limit+1)
	return paged(s, c, found, in.Limit, func(k app.APIKey) string { return string(k.ID) }), err
}

type apiKeyIn struct {
	ID app.APIKeyID `path:"id"`
}

func (s *Server) revokeAPIKey(ctx context.Context, c *call, in apiKeyIn) (app.APIKey, error) {
	return s.db.RevokeAPIKey(ctx, c.now, c.principal, c.actor(), in.ID)
}
