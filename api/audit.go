package api

import (
	"context"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Operations of the audit trails.
var (
	listAuditEntries         = handle("listAuditEntries", (*Server).auditTrail)
	listPlatformAuditEntries = handle("listPlatformAuditEntries", (*Server).platformAuditTrail)
)

type auditFilters struct {
	Realm   app.Realm       `query:"realm" validate:"omitempty,enum"`
	Action  app.AuditAction `query:"action" validate:"omitempty,enum"`
	ActorID string          `query:"actorId" validate:"omitempty,id"`
	Target  string          `query:"target" validate:"omitempty,id"`
	From    *app.Time       `query:"from"`
	To      *app.Time       `query:"to"`
}

func (in auditFilters) check() []app.Detail { return checkSpan(in.From, in.To) }

type auditTrailIn struct {
	storeParam
	auditFilters
	pageParams
}

func (s *Server) auditTrail(ctx context.Context, c *call, in auditTrailIn) (list[app.AuditEntry, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.AuditEntry, cursorMeta]{}, err
	}
	found, more, err := s.db.AuditTrail(ctx, c.principal.StoreID, identity.AuditFilter(in.auditFilters),
		timeCursor(position), in.page())
	return listPage(s, c, found, in.Limit, more, auditPosition), err
}

func auditPosition(e app.AuditEntry) string { return timePosition(e.At, string(e.ID)) }

type platformAuditTrailIn struct {
	auditFilters
	pageParams
}

func (s *Server) platformAuditTrail(
	ctx context.Context, c *call, in platformAuditTrailIn,
) (list[app.AuditEntry, cursorMeta], error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.AuditEntry, cursorMeta]{}, err
	}
	found, err := s.db.PlatformAuditTrail(ctx, identity.AuditFilter(in.auditFilters), timeCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, auditPosition), err
}

const (
	maxFailures = 64 // failed logins that are recorded concurrently

	// maxFailureEntries is the number of failed logins of one account that the trail shows per hour. The access log
	// contains all of them.
	maxFailureEntries = 20
)

// faultOf returns the reason why a login fails after the password check, "" if it succeeds.
func faultOf(disabled, ok bool) app.LoginFault {
	switch {
	case !ok:
		return app.FaultPassword
	case disabled:
		return app.FaultDisabled
	}
	return ""
}

// loginFailed records a failed login of a user in the access log and in the audit trails.
func (s *Server) loginFailed(c *call, user app.User, why app.LoginFault) {
	by, now := c.actor(), c.now
	c.exchange.principal.UserID = user.ID
	s.recordFailure(c, string(user.ID), why, func(ctx context.Context) error {
		return s.db.LoginFailed(ctx, now, by, user, why)
	})
}

// customerLoginFailed is loginFailed for a customer.
func (s *Server) customerLoginFailed(c *call, store app.StoreID, customer app.CustomerID, why app.LoginFault) {
	by, now := c.actor(), c.now
	c.exchange.principal.CustomerID = customer
	s.recordFailure(c, string(customer), why, func(ctx context.Context) error {
		return s.db.CustomerLoginFailed(ctx, now, store, by, customer, why)
	})
}

// recordFailure records a failed login in the background: the duration of the response must not reveal whether
// the email has an account. The rate limits of the address and of the account limit the number of entries. If
// too many are waiting or the process is killed, entries are missing in the trail, but not in the access log.
func (s *Server) recordFailure(c *call, account string, why app.LoginFault, record func(context.Context) error) {
	log := c.exchange.log.With().Str("accountId", account).Str("reason", string(why)).Logger()
	after := c.afterwards()
	noted := s.failures.run(account, func(ctx context.Context) {
		if account == "" { // no user, whose trail could have an entry
			return
		}
		count := func(ctx context.Context) error {
			budget := s.limiter.exactly(maxFailureEntries, "failed logins", account)
			return s.takeLimits(ctx, after, time.Hour, budget)
		}
		err := s.work.runAfterwards(ctx, after, count, record)
		if err != nil && app.CodeOf(err) != app.CodeRateLimited {
			log.Error().Err(err).Msg("failed login not recorded in the audit trail")
		}
	})
	if !noted {
		log.Error().Msg("failed login not recorded in the audit trail: too many concurrent entries")
	}
}

// backgroundTimeout is the time for a function that runs in the background.
const backgroundTimeout = 5 * time.Second

// background runs functions concurrently, up to a limit, and cancels each after a timeout.
type background struct {
	most    int
	timeout time.Duration
	running sync.WaitGroup

	mu  sync.Mutex
	now int            // functions that run
	of  map[string]int // by owner; without an entry if none of them run
}

func newBackground(most int) *background {
	return &background{most: most, timeout: backgroundTimeout, of: map[string]int{}}
}

// run starts f unless the limit is reached: one owner takes at most half of the places that others leave. It reports
// whether it did.
func (b *background) run(owner string, f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.of[owner]; b.now >= b.most || n > 0 && n >= b.most-b.now {
		return false
	}
	b.now++
	b.of[owner]++
	b.running.Go(func() {
		defer b.ended(owner)
		ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
		defer cancel()
		f(ctx)
	})
	return true
}

func (b *background) ended(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	if b.of[owner]--; b.of[owner] == 0 {
		delete(b.of, owner)
	}
}

func (b *background) wait() { b.running.Wait() }
