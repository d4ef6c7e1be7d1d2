package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of invitations.
var (
	inviteUser = handle("inviteUser", (*Server).invite, app.CodeStoreMismatch, app.CodeConflict,
		app.CodeRateLimited)
	listInvitations  = handle("listInvitations", (*Server).invitations)
	resendInvitation = handle("resendInvitation", (*Server).resendInvitation, app.CodeStoreMismatch,
		app.CodeRateLimited)
	deleteInvitation = handle("deleteInvitation", (*Server).withdrawInvitation)
	acceptInvitation = handle("acceptInvitation", (*Server).acceptInvite,
		app.CodeTokenInvalid, app.CodeInvalidCredentials, app.CodeOTPRequired, app.CodeConflict,
		app.CodeWebsiteSuspended)
)

// invitationTTL is the time for which an invitation can be accepted.
const invitationTTL = 7 * 24 * time.Hour

type inviteIn struct {
	Email    string   `json:"email" validate:"required,email,useremail"`
	Name     string   `json:"name" validate:"required,notblank,name"`
	Role     app.Role `json:"role" validate:"required,enum"`
	StoreIDs []string `json:"storeIds" validate:"omitempty,storeids"`
}

type invitationOut struct {
	app.Invitation
	Token string `json:"token,omitempty"`
	Link  string `json:"link,omitempty"`
}

// invite creates an invitation. It replaces a pending invitation of the same address and website. The
// response to a repeated request omits the token.
func (s *Server) invite(ctx context.Context, c *call, in inviteIn) (invitationOut, error) {
	stores := []app.StoreID{c.principal.StoreID}
	if len(in.StoreIDs) > 0 {
		stores = nil
		for _, id := range in.StoreIDs {
			stores = append(stores, app.StoreID(id))
		}
	}
	token := newInvitationToken()
	wanted := app.Invitation{Email: in.Email, Name: in.Name, Role: in.Role, StoreIDs: stores}
	invitation, err := s.db.Invite(ctx, c.now, c.principal, c.actor(), wanted, token, invitationTTL, c.once)
	if c.once.Repeated { // token is not the token of the invitation
		token = app.Secret{}
	}
	return s.showInvitation(invitation, token), err
}

func newInvitationToken() app.Secret {
	random := make([]byte, 32)
	rand.Read(random)
	return app.NewSecret(base64.RawURLEncoding.EncodeToString(random))
}

// showInvitation returns an invitation, with its token and link unless they were mailed.
func (s *Server) showInvitation(invitation app.Invitation, token app.Secret) invitationOut {
	out := invitationOut{Invitation: invitation}
	if token.Len() > 0 && !invitation.Mailed {
		out.Token, out.Link = token.Reveal(), app.AcceptInviteLink(s.tokens.issuer, token)
	}
	return out
}

type invitationsIn struct {
	storeParam
	pageParams
}

func (s *Server) invitations(
	ctx context.Context, c *call, in invitationsIn,
) (list[app.Invitation, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Invitation, cursorMeta]{}, err
	}
	found, err := s.db.Invitations(ctx, c.now, c.principal.StoreID, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(i app.Invitation) string {
		return timePosition(i.CreatedAt, string(i.ID))
	}), err
}

type invitationIn struct {
	ID app.InvitationID `path:"id"`
}

// resendInvitation replaces the token of an invitation and extends its expiry.
func (s *Server) resendInvitation(ctx context.Context, c *call, in invitationIn) (invitationOut, error) {
	token := newInvitationToken()
	invitation, err := s.db.ResendInvitation(ctx, c.now, c.principal, c.actor(), in.ID, token, invitationTTL)
	return s.showInvitation(invitation, token), err
}

func (s *Server) withdrawInvitation(ctx context.Context, c *call, in invitationIn) (nothing, error) {
	return nothing{}, s.db.WithdrawInvitation(ctx, c.now, c.principal, c.actor(), in.ID)
}

type acceptInviteIn struct {
	Token    app.Secret `json:"token" validate:"required,linktoken"`
	Name     string     `json:"name" validate:"omitempty,notblank,name"`
	Password app.Secret `json:"password" validate:"required,password"`
	OTP      app.Secret `json:"otp" validate:"onetimepassword"`
}

// acceptInvite accepts an invitation and logs in. An existing user with the invited address gives the
// current password, a new user chooses one.
func (s *Server) acceptInvite(ctx context.Context, c *call, in acceptInviteIn) (loginOut, error) {
	// The same rules for new and existing users: a refused password does not reveal whether the user exists.
	if fault := app.PasswordFault(in.Password, in.Name); fault != "" {
		return loginOut{}, app.Invalid("password", fault)
	}
	invited, err := s.db.Invited(ctx, c.now, in.Token)
	if err != nil {
		return loginOut{}, err
	}
	words, err := s.db.InvitationWords(ctx, in.Token)
	if err != nil {
		return loginOut{}, err
	}
	if fault := app.PasswordFault(in.Password, append(words, in.Name)...); fault != "" {
		return loginOut{}, app.Invalid("password", fault)
	}
	acceptance := identity.Acceptance{Token: in.Token, Name: in.Name, User: invited.User}
	if invited.New {
		acceptance.NewHash, err = s.passwords.hash(ctx, c, in.Password)
	} else {
		acceptance.Proof, err = s.proveInvited(ctx, c, in, invited.Login)
	}
	if err != nil {
		return loginOut{}, err
	}
	user, session, err := s.db.Accept(ctx, c.now, c.actor(), acceptance, s.tokens.refreshTTL)
	if err == nil {
		return s.loggedIn(c, user, session)
	}
	if s.otpFailed(c, invited.User, err) {
		return loginOut{}, cmp.Or(s.db.InvitationFailed(ctx, c.now, c.actor(), in.Token), err)
	}
	switch app.CodeOf(err) {
	case app.CodeInvalidCredentials, app.CodeNotFound: // disabled or removed since the credentials were checked
		return loginOut{}, badCredentials()
	}
	return loginOut{}, err
}

// proveInvited returns the proof of an existing user who accepts an invitation. It returns the errors of login about
// the password. Too many of these, as of wrong one-time passwords, end the invitation, so that an inviter cannot guess
// passwords. A mailed invitation replaces no password, because the user may have mistyped it.
func (s *Server) proveInvited(
	ctx context.Context, c *call, in acceptInviteIn, login identity.Login,
) (identity.Proof, error) {
	ok, _, err := s.passwords.check(ctx, c, in.Password, login.PasswordHash)
	if err != nil {
		return identity.Proof{}, err
	}
	if fault := faultOf(login.Disabled, ok); fault != "" {
		s.loginFailed(c, login.User, fault)
		return identity.Proof{}, cmp.Or(s.db.InvitationFailed(ctx, c.now, c.actor(), in.Token), badCredentials())
	}
	return s.proof(ctx, c, login.User.ID, login.PasswordHash, in.OTP)
}
