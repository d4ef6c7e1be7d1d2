package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type createAPIKeyIn struct {
	Name   string      `json:"name" validate:"required,notblank,max=100" example:"Till at the counter"`
	Scopes []app.Scope `json:"scopes" validate:"required,min=1,max=9,unique,dive,enum" example:"[\"read:products\",\"write:orders\"]" description:"write:… includes read:… of the same resource."`
	Mode   app.KeyMode `json:"mode" validate:"omitempty,enum" description:"A test key sees the store's sandbox and nothing else; the first one makes it. By default live, and test in a sandbox."`
}

type apiKeyOut struct {
	app.APIKey
	Key string `json:"key,omitempty"` // the key itself, in the first answer to its creation and never again
}

// createAPIKey shows the key in this one answer; what is stored for an Idempotency-Key has
// none.
func (s *Server) createAPIKey(ctx context.Context, c *call, in createAPIKeyIn) (apiKeyOut, error) {
	answer := func(issued app.IssuedAPIKey) any { return stored{apiKeyOut{APIKey: issued.APIKey}} }
	issued, err := s.db.CreateAPIKey(ctx, c.now, c.principal.StoreID, c.actor(), app.NewAPIKey{Name: in.Name, Scopes: in.Scopes, Mode: in.Mode}, c.once, answer)
	return apiKeyOut{APIKey: issued.APIKey, Key: issued.Key.Reveal()}, err
}

type apiKeysIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Limit   int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
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
	return s.db.RevokeAPIKey(ctx, c.now, c.principal.StoreID, c.actor(), in.ID)
}
