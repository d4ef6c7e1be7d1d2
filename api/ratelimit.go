package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// limits says which budgets the requests of a route are counted against (contract §3).
type limits struct {
	address bool     // the client address's, one for all routes of both realms
	without string   // a cookie: the address's budget is for requests that lack it
	account []string // the members of the body that name the account, which has a budget over all addresses
	session bool     // the session's, one for all its routes
}

// limited is the table of all routes with a limit.
var limited = map[string]limits{
	"POST /auth/login":         {address: true, account: []string{"email"}},
	"POST /auth/accept-invite": {address: true, account: []string{"token"}}, // with which the password of its user can be guessed
	"POST /auth/refresh":       {address: true, without: "refreshToken", session: true},
	"POST /auth/switch-store":  {session: true},
	"POST /auth/logout":        {session: true},

	"POST /customer-auth/login":    {address: true, account: []string{"storeId", "email"}},
	"POST /customer-auth/register": {address: true, account: []string{"storeId", "email"}},
	// Whose account it is, only the verified token says. Until then the token stands for it.
	"POST /customer-auth/social":  {address: true, account: []string{"storeId", "token"}},
	"POST /customer-auth/refresh": {address: true, without: "customerRefreshToken", session: true},
	"POST /customer-auth/logout":  {session: true},
}

func (rt *route) limits() limits { return limited[rt.method+" "+rt.path] }

// accountFactor is by how much an account's budget is larger than an address's, so that
// nobody can lock an owner out with a few wrong guesses.
const accountFactor = 10

// limiter knows the budgets. What is left of them is in the database, for all replicas
// together.
type limiter struct {
	key    []byte // of the MAC under which budgets are kept; the same for all replicas
	most   int
	window time.Duration
}

func newLimiter(c Config) limiter {
	l := limiter{most: c.RateLimit, window: c.RateWindow}
	if keys := c.Keyring.Derive("rate limit"); len(keys) > 0 {
		l.key = keys[0].Bytes
	}
	if l.most == 0 {
		l.most = 10
	}
	if l.window == 0 {
		l.window = time.Minute
	}
	return l
}

// budget names somebody's budget. Nobody can tell from the key whose it is.
func (l limiter) budget(factor int, whose ...string) persistence.Budget {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(strings.Join(whose, "\x00"))) // which a body cannot contain
	return persistence.Budget{Key: mac.Sum(nil), Most: factor * l.most}
}

// limitCaller counts a request against the budgets of its client's address and of the
// account that it names, before anything is done with its credential.
func (s *Server) limitCaller(ctx context.Context, c *call) error {
	l := c.route.limits()
	var budgets []persistence.Budget
	if l.address && (l.without == "" || len(c.request.CookiesNamed(l.without)) == 0) {
		budgets = append(budgets, s.limiter.budget(1, "address", network(c.exchange.client)))
	}
	if account, named := c.account(l.account); named {
		budgets = append(budgets, s.limiter.budget(accountFactor, account...))
	}
	if budgets == nil {
		return nil
	}
	return s.db.TakeRateLimits(ctx, s.limiter.window, budgets...)
}

// limitPrincipal counts a request against the budget of the session that it was
// authenticated with.
func (s *Server) limitPrincipal(ctx context.Context, c *call) error {
	session := c.principal.SessionID
	if session == "" { // the credential is a refresh token
		session = c.refresh.session
	}
	if !c.route.limits().session || session == "" {
		return nil
	}
	return s.limitSession(ctx, c, session)
}

// limitSession counts a request against a session's budget.
func (s *Server) limitSession(ctx context.Context, c *call, session app.SessionID) error {
	return s.db.TakeRateLimits(ctx, s.limiter.window, s.limiter.budget(1, "session", c.surface(), string(session)))
}

// surface is the first part of the path: whose accounts and sessions are meant.
func (c *call) surface() string { return strings.Split(c.route.path, "/")[1] }

// account returns what names the account in the body. A body in which it is not named as it
// must be names none, and will be refused when it is validated.
func (c *call) account(members []string) (account []string, named bool) {
	if members == nil {
		return nil, false
	}
	var body map[string]jsontext.Value
	if err := json.Unmarshal(c.body, &body); err != nil {
		return nil, false
	}
	account = []string{"account", c.surface()}
	for _, name := range members {
		var value string
		if err := json.Unmarshal(body[name], &value); err != nil || body[name].Kind() != '"' {
			return nil, false
		}
		if name == "email" {
			value = strings.ToLower(value)
		}
		account = append(account, value)
	}
	return account, true
}

// network is what counts as one client: an address, and of IPv6 the 64 bits that a
// provider gives to each of its customers.
func network(client netip.Addr) string {
	if client.Is6() {
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}
