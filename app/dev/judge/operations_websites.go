package main

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
)

const (
	platformEmail    = "platform@judge.example"
	platformPassword = "a password of the platform"
)

// suspension is a time in which a website is surely suspended: from the response that confirms it to the request that
// ends it.
type suspension struct {
	Site       string
	Begin, End time.Time
}

// openPlatform creates a platform administrator and logs in.
func (s *sites) openPlatform(ctx context.Context) error {
	hash, err := api.HashPassword(app.NewSecret(platformPassword))
	if err != nil {
		return err
	}
	_, err = s.w.SystemDB().CreatePlatformAdmin(ctx, time.Now(), app.Actor{}, platformEmail, "Platform", hash)
	if err != nil {
		return err
	}
	if s.platform, err = s.client(""); err != nil {
		return err
	}
	return s.loginPlatform(ctx)
}

func (s *sites) loginPlatform(ctx context.Context) error {
	_, err := s.platform.Login(ctx, comanda.LoginRequest{Email: platformEmail, Password: platformPassword})
	return err
}

// suspendWebsite suspends the website for some seconds. Its API refuses all requests then, and deliveries continue.
func suspendWebsite(ctx context.Context, t *turn) error {
	t.site.suspending.Lock()
	defer t.site.suspending.Unlock()
	if err := t.setSuspended(ctx, true); err != nil {
		return err
	}
	one := suspension{Site: t.site.name, Begin: time.Now()}
	if err := wait(ctx, time.Duration(number(t.random, 1, 4))*time.Second); err != nil {
		return err
	}
	one.End = time.Now()
	t.site.all.h.addSuspension(one)
	return t.setSuspended(ctx, false)
}

func (t *turn) setSuspended(ctx context.Context, suspended bool) error {
	change := comanda.ChangeWebsiteRequest{Suspended: &suspended}
	s := t.site.all
	return t.sendInSession(ctx, s.platform, s.loginPlatform,
		func(ctx context.Context, c *comanda.Client, _ comanda.CallOption) error {
			_, err := c.UpdateWebsite(ctx, t.site.website, change)
			return err
		})
}
