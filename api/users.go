package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of users.
var (
	listUsers  = handle("listUsers", (*Server).users)
	updateUser = handle("updateUser", (*Server).changeRole, app.CodeLastOwner)
	removeUser = handle("removeUser", (*Server).removeUser, app.CodeLastOwner)
)

type usersIn struct {
	storeParam
	pageParams
}

func (s *Server) users(ctx context.Context, c *call, in usersIn) (list[app.Member, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Member, cursorMeta]{}, err
	}
	found, err := s.db.Members(ctx, c.principal.StoreID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(m app.Member) string {
		return timePosition(m.JoinedAt, string(m.ID))
	}), err
}

type changeRoleIn struct {
	ID   app.UserID `path:"id"`
	Role app.Role   `json:"role" validate:"required,enum"`
}

func (s *Server) changeRole(ctx context.Context, c *call, in changeRoleIn) (app.Member, error) {
	return s.db.ChangeRole(ctx, c.now, c.principal, c.actor(), in.ID, in.Role)
}

type userIn struct {
	ID app.UserID `path:"id"`
}

func (s *Server) removeUser(ctx context.Context, c *call, in userIn) (nothing, error) {
	return nothing{}, s.db.RemoveMember(ctx, c.now, c.principal, c.actor(), in.ID)
}
