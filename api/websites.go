package api

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of websites.
var (
	createWebsite     = handle("createWebsite", (*Server).openWebsite, app.CodeConflict)
	listWebsites      = handle("listWebsites", (*Server).websites)
	getWebsiteDetails = handle("getWebsiteDetails", (*Server).websiteDetails, app.CodeNotFound)
	openStore         = handle("openStore", (*Server).openStore, app.CodeNotFound, app.CodeLimitReached)
	inviteOwner       = handle("inviteOwner", (*Server).inviteOwner, app.CodeNotFound, app.CodeConflict,
		app.CodeRateLimited)
	withdrawOwnerInvitation = handle("withdrawOwnerInvitation", (*Server).withdrawOwnerInvitation, app.CodeNotFound)
	updateWebsite           = handle("updateWebsite", (*Server).changeWebsite, app.CodeNotFound, app.CodeConflict)
)

func (s *Server) websites(ctx context.Context, c *call, in pageParams) (list[app.Website, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.Website, cursorMeta]{}, err
	}
	found, err := s.db.Websites(ctx, app.WebsiteID(after), in.Limit+1)
	return paged(s, c, found, in.Limit, func(w app.Website) string { return string(w.ID) }), err
}

type changeWebsiteIn struct {
	ID            app.WebsiteID    `path:"id"`
	Name          *string          `json:"name" validate:"omitempty,notblank,name"`
	Domain        *string          `json:"domain" validate:"omitempty,domain"`
	Plan          *app.Plan        `json:"plan" validate:"omitempty,enum"`
	PlanManagedBy *app.PlanManager `json:"planManagedBy" validate:"omitempty,enum"`
	Suspended     *bool            `json:"suspended"`
	Social        clientIDsIn      `json:"social"`
}

func (in changeWebsiteIn) check() []app.Detail {
	if in.Domain != nil {
		return checkDomain(*in.Domain)
	}
	return nil
}

// checkDomain returns the fault of a domain that is not a host name.
func checkDomain(domain string) []app.Detail {
	if !hostName.MatchString(domain) {
		return []app.Detail{{Path: "domain", Message: "must be a host name in lower case"}}
	}
	return nil
}

type websiteIn struct {
	ID app.WebsiteID `path:"id"`
}

func (s *Server) websiteDetails(ctx context.Context, c *call, in websiteIn) (app.WebsiteDetails, error) {
	return s.db.WebsiteDetails(ctx, c.now, in.ID)
}

type openStoreIn struct {
	ID          app.WebsiteID `path:"id"`
	StoreName   string        `json:"storeName" validate:"required,notblank,name"`
	CountryCode string        `json:"countryCode" validate:"required,iso3166_1_alpha2"`
	Timezone    string        `json:"timezone" validate:"required,timezone"`
	StoreViews  []storeViewIn `json:"storeViews" validate:"required,storeviews"`
}

func (in openStoreIn) store() addStoreIn {
	return addStoreIn{in.StoreName, in.CountryCode, in.Timezone, in.StoreViews}
}

func (in openStoreIn) check() []app.Detail { return in.store().check() }

// openStore adds a store without members to a website.
func (s *Server) openStore(ctx context.Context, c *call, in openStoreIn) (app.Store, error) {
	return s.db.OpenStore(ctx, c.now, c.actor(), in.ID, in.store().newStore(), c.once)
}

type inviteOwnerIn struct {
	ID      app.WebsiteID `path:"id"`
	Email   string        `json:"email" validate:"required,email,useremail"`
	Name    string        `json:"name" validate:"required,notblank,name"`
	StoreID app.StoreID   `json:"storeId" validate:"required,id" store:"any"`
}

// inviteOwner invites an OWNER of a store. It replaces a pending invitation of the same email and website.
func (s *Server) inviteOwner(ctx context.Context, c *call, in inviteOwnerIn) (invitationOut, error) {
	token := newInvitationToken()
	invitation, err := s.db.InviteOwner(ctx, c.now, c.actor(), in.ID, in.StoreID,
		app.Invitation{Email: in.Email, Name: in.Name}, token, invitationTTL, c.once)
	if c.once.Repeated { // token is not the token of the invitation
		token = app.Secret{}
	}
	return s.showInvitation(invitation, token), err
}

type ownerInvitationIn struct {
	ID           app.WebsiteID    `path:"id"`
	InvitationID app.InvitationID `path:"invitationId"`
}

// withdrawOwnerInvitation ends a pending invitation of an OWNER.
func (s *Server) withdrawOwnerInvitation(ctx context.Context, c *call, in ownerInvitationIn) (nothing, error) {
	return nothing{}, s.db.WithdrawOwnerInvitation(ctx, c.now, c.actor(), in.ID, in.InvitationID)
}

func (s *Server) changeWebsite(ctx context.Context, c *call, in changeWebsiteIn) (app.Website, error) {
	return s.db.ChangeWebsite(ctx, c.now, c.actor(), in.ID, app.WebsiteChange{
		Name: in.Name, Domain: in.Domain, Plan: in.Plan, PlanManagedBy: in.PlanManagedBy, Suspended: in.Suspended,
		Social: app.ClientIDs(in.Social),
	})
}

type openWebsiteIn struct {
	Name   string      `json:"name" validate:"required,notblank,name"`
	Domain string      `json:"domain" validate:"required,domain"`
	Plan   app.Plan    `json:"plan" validate:"omitempty,enum"`
	Store  newStoreIn  `json:"store" validate:"required"`
	Owner  newMemberIn `json:"owner" validate:"required"`
}

type newStoreIn struct {
	Name        string      `json:"name" validate:"required,notblank,name"`
	CountryCode string      `json:"countryCode" validate:"required,iso3166_1_alpha2"`
	Timezone    string      `json:"timezone" validate:"required,timezone"`
	Views       []newViewIn `json:"views" validate:"required,storeviews"`
}

type newViewIn struct {
	Locale   string       `json:"locale" validate:"required,locale"`
	Currency app.Currency `json:"currency" validate:"required,currency"`
}

type newMemberIn struct {
	Email string `json:"email" validate:"required,email,useremail"`
	Name  string `json:"name" validate:"required,notblank,name"`
}

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)

func (in openWebsiteIn) check() (faults []app.Detail) {
	if in.Domain != "" {
		faults = checkDomain(in.Domain)
	}
	codes := map[string]bool{}
	for i, view := range in.Store.Views {
		if codes[view.code()] {
			faults = append(faults,
				app.Detail{Path: fmt.Sprintf("store.views[%d].locale", i), Message: "is a duplicate of another view"})
		}
		codes[view.code()] = true
	}
	return faults
}

// code returns the code of a view as language_country: "de_de" for de-DE.
func (v newViewIn) code() string { return strings.ToLower(strings.ReplaceAll(v.Locale, "-", "_")) }

type openWebsiteOut struct {
	ID         app.WebsiteID `json:"id"`
	StoreID    app.StoreID   `json:"storeId"`
	Invitation invitationOut `json:"invitation"`
}

// openWebsite creates a website and invites its first OWNER.
func (s *Server) openWebsite(ctx context.Context, c *call, in openWebsiteIn) (openWebsiteOut, error) {
	if in.Plan == "" {
		in.Plan = app.PlanStarter
	}
	store := identity.NewStore{Name: in.Store.Name, CountryCode: in.Store.CountryCode, Timezone: in.Store.Timezone}
	for _, view := range in.Store.Views {
		store.Views = append(store.Views,
			app.StoreView{Code: view.code(), Locale: view.Locale, Currency: view.Currency})
	}
	token := newInvitationToken()
	website := identity.NewWebsite{Name: in.Name, Domain: in.Domain, Plan: in.Plan}
	owner := app.Invitation{Email: in.Owner.Email, Name: in.Owner.Name}
	opened, err := s.db.OpenWebsite(ctx, c.now, c.actor(), website, store, owner, token, invitationTTL, c.once)
	if err != nil {
		return openWebsiteOut{}, err
	}
	if c.once.Repeated { // token is not the token of the invitation
		token = app.Secret{}
	}
	return openWebsiteOut{opened.ID, opened.Owner.StoreIDs[0], s.showInvitation(opened.Owner, token)}, nil
}
