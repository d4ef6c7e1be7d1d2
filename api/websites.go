package api

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
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
	Suspended *bool         `json:"suspended" description:"As long as it is true, no user can log in to the website's stores, and tokens of users and customers as well as API keys are refused with TOKEN_REVOKED. Customers find its stores unknown, and its invitations wait. What has happened before is delivered to webhooks as ever."`
}

func (s *Server) changeWebsite(ctx context.Context, c *call, in changeWebsiteIn) (app.Website, error) {
	return s.db.ChangeWebsite(ctx, c.now, c.actor(), in.ID, app.WebsiteChange{Plan: in.Plan, Suspended: in.Suspended})
}

type openWebsiteIn struct {
	Name   string      `json:"name" validate:"required,notblank,max=200" example:"Trattoria"`
	Domain string      `json:"domain" validate:"required,max=253" example:"trattoria.example" description:"A host name that no other website has."`
	Plan   app.Plan    `json:"plan" validate:"omitempty,enum" description:"STARTER by default."`
	Store  newStoreIn  `json:"store"`
	Owner  newMemberIn `json:"owner"`
}

type newStoreIn struct {
	Name        string      `json:"name" validate:"required,notblank,max=200" example:"Trattoria Mitte"`
	CountryCode string      `json:"countryCode" validate:"required,iso3166_1_alpha2" example:"DE"`
	Timezone    string      `json:"timezone" validate:"required,timezone" example:"Europe/Berlin" description:"An IANA name."`
	Views       []newViewIn `json:"views" validate:"required,min=1,max=20,dive" description:"The first is the default."`
}

type newViewIn struct {
	Locale   string       `json:"locale" validate:"required,locale" example:"de-DE" description:"A BCP 47 tag of language, script and region."`
	Currency app.Currency `json:"currency" validate:"required,currency" example:"EUR" description:"An ISO 4217 code."`
}

type newMemberIn struct {
	Email string `json:"email" validate:"required,email,max=320" example:"owner@trattoria.example"`
	Name  string `json:"name" validate:"required,notblank,max=200" example:"Ada Lovelace"`
}

const maxHostName = 253

var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)

func (in openWebsiteIn) check() (faults []app.Detail) {
	if in.Domain != "" && !hostName.MatchString(in.Domain) {
		faults = append(faults, app.Detail{Path: "domain", Message: "must be a host name in lower case"})
	}
	codes := map[string]bool{}
	for i, view := range in.Store.Views {
		if codes[view.code()] {
			faults = append(faults, app.Detail{Path: fmt.Sprintf("store.views[%d].locale", i), Message: "is that of another view"})
		}
		codes[view.code()] = true
	}
	return faults
}

// code is how a view is called in the style of the spec: "de_de" for de-DE.
func (v newViewIn) code() string { return strings.ToLower(strings.ReplaceAll(v.Locale, "-", "_")) }

type openWebsiteOut struct {
	ID         app.WebsiteID `json:"id"`
	StoreID    app.StoreID   `json:"storeId"`
	Invitation invitationOut `json:"invitation"`
}

// openWebsite is how a new restaurant comes to be: its owner accepts the invitation.
func (s *Server) openWebsite(ctx context.Context, c *call, in openWebsiteIn) (openWebsiteOut, error) {
	if in.Plan == "" {
		in.Plan = app.PlanStarter
	}
	store := persistence.NewStore{Name: in.Store.Name, CountryCode: in.Store.CountryCode, Timezone: in.Store.Timezone}
	for _, view := range in.Store.Views {
		store.Views = append(store.Views, app.StoreView{Code: view.code(), Locale: view.Locale, Currency: view.Currency})
	}
	token := newInvitationToken()
	id, invitation, err := s.db.OpenWebsite(ctx, c.now, c.actor(), persistence.NewWebsite{Name: in.Name, Domain: in.Domain, Plan: in.Plan}, store,
		app.Invitation{Email: in.Owner.Email, Name: in.Owner.Name}, token, invitationTTL)
	if err != nil {
		return openWebsiteOut{}, err
	}
	return openWebsiteOut{id, invitation.StoreIDs[0], s.showInvitation(invitation, token)}, nil
}
