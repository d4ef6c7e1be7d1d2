package api

import (
	"context"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

type auditTrailIn struct {
	StoreID app.StoreID     `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Action  app.AuditAction `query:"action" validate:"omitempty,enum"`
	ActorID string          `query:"actorId" validate:"omitempty,id" description:"Of a user or an API key."`
	Target  string          `query:"target" validate:"omitempty,id" description:"The id of what something was done to."`
	From    *app.Time       `query:"from" description:"Done at that time or later."`
	To      *app.Time       `query:"to" description:"Done before that time."`
	Limit   int             `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string          `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

func (in auditTrailIn) check() []app.Detail {
	if in.From != nil && in.To != nil && !in.From.Before(in.To.Time) {
		return []app.Detail{{Path: "to", Message: "must be after from"}}
	}
	return nil
}

func (s *Server) auditTrail(ctx context.Context, c *call, in auditTrailIn) (list[app.AuditEntry, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.AuditEntry, cursorMeta]{}, err
	}
	filter := persistence.AuditFilter{Action: in.Action, ActorID: in.ActorID, Target: in.Target, From: in.From, To: in.To}
	found, err := s.db.AuditTrail(ctx, c.principal.StoreID, filter, timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(e app.AuditEntry) string { return timePosition(e.At, string(e.ID)) }), err
}

const (
	maxFailures    = 64 // failed logins that are being noted at once
	failureTimeout = 5 * time.Second
)

// faultOf returns why a login whose password has been checked must fail, "" if it must not.
func faultOf(login persistence.Login, ok bool) app.LoginFault {
	switch {
	case !ok:
		return app.FaultPassword
	case login.Disabled:
		return app.FaultDisabled
	}
	return ""
}

// loginFailed has a failed login noted in the audit trails of its user, while the answer
// goes out: writing takes longer than finding nobody to write about, and whoever measures
// answers must not learn which addresses have users. The limits of the address and of the
// account (ten times the address's) bound how many there can be. While more wait than may,
// and when the process dies meanwhile, the trail lacks them; the access log has them all.
func (s *Server) loginFailed(c *call, user app.User, why app.LoginFault) {
	by, now, log := c.actor(), c.now, c.exchange.log
	noted := s.failures.run(func() {
		ctx, cancel := context.WithTimeout(context.Background(), failureTimeout)
		defer cancel()
		if err := s.db.LoginFailed(ctx, now, by, user, why); err != nil {
			log.Error().Err(err).Str("userId", string(user.ID)).Str("reason", string(why)).Msg("a failed login is missing in the audit trail")
		}
	})
	if !noted {
		log.Error().Str("userId", string(user.ID)).Str("reason", string(why)).Msg("a failed login is missing in the audit trail: too many at once")
	}
}

// background runs what nobody waits for, so much at once and no more.
type background struct {
	places  chan struct{}
	running sync.WaitGroup
}

func newBackground(most int) *background { return &background{places: make(chan struct{}, most)} }

// run reports whether there was a place for f.
func (b *background) run(f func()) bool {
	select {
	case b.places <- struct{}{}:
		b.running.Go(func() {
			defer func() { <-b.places }()
			f()
		})
		return true
	default:
		return false
	}
}

func (b *background) wait() { b.running.Wait() }
