package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// invitationTTL is how long an invitation can be accepted.
const invitationTTL = 7 * 24 * time.Hour

type usersIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Limit   int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) users(ctx context.Context, c *call, in usersIn) (list[app.Member, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Member, cursorMeta]{}, err
	}
	found, err := s.db.Members(ctx, c.principal.StoreID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(m app.Member) string { return timePosition(m.JoinedAt, string(m.ID)) }), err
}

type inviteIn struct {
	Email    string   `json:"email" validate:"required,email,max=320" example:"grace@example.com"`
	Name     string   `json:"name" validate:"required,notblank,max=200" example:"Grace Hopper"`
	Role     app.Role `json:"role" validate:"required,enum" example:"MANAGER"`
	StoreIDs []string `json:"storeIds" validate:"omitempty,max=100,unique,dive,id" description:"Stores of this website in which the caller is OWNER. By default the store of the token."`
}

type invitationOut struct {
	app.Invitation
	Token  string `json:"token,omitempty"` // for POST /auth/accept-invite; in the first answer and never again
	Link   string `json:"link,omitempty"`  // the same for people; the token is behind the #, which no server sees
	Mailed bool   `json:"mailed"`          // whether the link is also sent to the address
}

// invite makes an invitation. Another one for the same address and website replaces it, so
// that doing it twice leaves one that works: the newer. What is stored for an
// Idempotency-Key has no token.
func (s *Server) invite(ctx context.Context, c *call, in inviteIn) (invitationOut, error) {
	stores := []app.StoreID{c.principal.StoreID}
	if len(in.StoreIDs) > 0 {
		stores = nil
		for _, id := range in.StoreIDs {
			stores = append(stores, app.StoreID(id))
		}
	}
	token := newInvitationToken()
	answer := func(made app.Invitation) any { return stored{invitationOut{Invitation: made, Mailed: s.db.Mails()}} }
	invitation, err := s.db.Invite(ctx, c.now, c.principal, c.actor(), app.Invitation{Email: in.Email, Name: in.Name, Role: in.Role, StoreIDs: stores},
		token, invitationTTL, c.once, answer)
	return s.showInvitation(invitation, token), err
}

func newInvitationToken() app.Secret {
	random := make([]byte, 32)
	rand.Read(random)
	return app.NewSecret(base64.RawURLEncoding.EncodeToString(random))
}

func (s *Server) showInvitation(invitation app.Invitation, token app.Secret) invitationOut {
	return invitationOut{invitation, token.Reveal(), app.AcceptInviteLink(s.tokens.issuer, token), s.db.Mails()}
}

type acceptInviteIn struct {
	Token    app.Secret `json:"token" validate:"required,max=100"`
	Name     string     `json:"name" validate:"omitempty,notblank,max=200" description:"Of a new user; by default the name in the invitation."`
	Password app.Secret `json:"password" validate:"required,bytes=1024" description:"Chosen by a new user, 8 to 1,024 bytes; that of the user who has the invited address already."`
}

// acceptInvite lets in who holds an invitation. Whoever has the invited address already
// proves it with the password; a new user chooses one.
func (s *Server) acceptInvite(ctx context.Context, c *call, in acceptInviteIn) (loginOut, error) {
	login, err := s.db.Invited(ctx, c.now, in.Token)
	if err != nil {
		return loginOut{}, err
	}
	var hash string
	if login == nil {
		if hash, err = s.newPassword(ctx, in.Password); err != nil {
			return loginOut{}, err
		}
	} else {
		ok, _, err := s.passwords.check(ctx, in.Password, login.PasswordHash)
		if err != nil {
			return loginOut{}, err
		}
		if fault := faultOf(*login, ok); fault != "" {
			s.loginFailed(c, login.User, fault)
			return loginOut{}, app.Errorf(app.CodeInvalidCredentials, "the invited address has a user already, with another password")
		}
	}
	user, store, err := s.db.Accept(ctx, c.now, c.actor(), in.Token, in.Name, hash)
	if err != nil {
		return loginOut{}, err
	}
	return s.startSession(ctx, c, user, store)
}

// newPassword checks and hashes a password that somebody chose.
func (s *Server) newPassword(ctx context.Context, password app.Secret) (string, error) {
	switch {
	case password.Len() < minPassword:
		return "", app.Invalid("password", fmt.Sprintf("must have at least %d bytes", minPassword))
	case IsCommonPassword(password.Reveal()):
		return "", app.Invalid("password", messages["uncommon"])
	}
	return s.passwords.hash(ctx, password)
}

type changeRoleIn struct {
	ID   string   `path:"id"`
	Role app.Role `json:"role" validate:"required,enum" example:"STAFF"`
}

func (s *Server) changeRole(ctx context.Context, c *call, in changeRoleIn) (app.Member, error) {
	return s.db.ChangeRole(ctx, c.now, c.principal.StoreID, c.actor(), app.UserID(c.id()), in.Role)
}

type userIn struct {
	ID string `path:"id"`
}

func (s *Server) removeUser(ctx context.Context, c *call, _ userIn) (nothing, error) {
	return nothing{}, s.db.RemoveMember(ctx, c.now, c.principal.StoreID, c.actor(), app.UserID(c.id()))
}
