package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// limit names the budgets that a request of a route counts against (docs/behaviour.md#rate-limits). Without a budget of
// the session, each request with an access token or an API key also takes a token from the bucket of its credential.
type limit struct {
	address    bool                  // of the client address; one budget for all routes of both realms
	cookieless bool                  // the address's budget is only for requests without the refresh cookie
	account    []string              // members of the body that name the account, which has a budget over all addresses
	invitation bool                  // the account is the email that the token in the body invites
	session    bool                  // of the session; one budget for all its routes
	quotas     []quota               // the handler counts the request against them
	streams    identity.StreamLimits // concurrent streams on all routes; 0 = the route has no stream
}

// quota is an exact budget. Quotas of the same name are the same budget. All quotas of a route have the same window.
type quota struct {
	name   string
	per    owner
	most   int // in any window
	factor int // instead of most: a multiple of COMANDA_AUTH_RATE_LIMIT
	window time.Duration
}

// owner is the kind of the owner of a quota.
type owner string

const (
	perWebhook owner = "webhook" // that the path identifies
	perStore   owner = "store"
	perWebsite owner = "website"
	perSelf    owner = "customer" // who changes the own data; users and API keys are not limited
	perNetwork owner = "store and network"

	perCredential owner = "credential" // of a user, an API key or a customer
)

// registrations limits the accounts that one network opens in a store.
var registrations = []quota{{name: "registrations", per: perNetwork, factor: 10, window: time.Hour}}

// The limits of routes. Before an ID token is verified, the token stands for the account.
var (
	perLogin      = limit{address: true, account: []string{"email"}}
	perInvitation = limit{address: true, account: []string{"token"}, invitation: true}
	perCustomer   = limit{address: true, account: []string{"storeId", "email"}}
	perLink       = limit{address: true} // the handler counts it against the account
	perToken      = limit{address: true, account: []string{"token"}}
	perRefresh    = limit{address: true, cookieless: true, session: true}
	perSession    = limit{session: true}

	// A test may hold a shared slot of a worker for ten seconds.
	perTest = limit{quotas: []quota{
		{name: "tests", per: perWebhook, most: 6, window: time.Minute},
		{name: "tests", per: perStore, most: 30, window: time.Minute},
		{name: "tests", per: perWebsite, most: 60, window: time.Minute},
	}}
	// Registrations and changes of customers cause events. A social login counts if it creates an account.
	perRegistration = limit{address: true, account: []string{"storeId", "email"}, quotas: registrations}
	perIDToken      = limit{address: true, account: []string{"storeId", "token"}, quotas: registrations}

	// Phone numbers can be guessed.
	perLookup    = limit{quotas: []quota{{name: "lookups", per: perCredential, most: 60, window: time.Minute}}}
	perOwnChange = limit{quotas: []quota{{name: "changes", per: perSelf, most: 30, window: time.Hour}}}
	// A mail goes to an address of the customer's choice.
	perNewEmail = limit{session: true, quotas: []quota{
		{name: "email changes", per: perSelf, most: app.EmailChangesPerHour, window: time.Hour},
	}}
	// The transaction of the invitation counts it, for each of its stores and for their website.
	perMail = limit{quotas: []quota{
		{name: "invitations", per: perStore, most: app.InvitationsPerHour, window: time.Hour},
		{name: "invitations", per: perWebsite, most: app.WebsiteInvitationsPerHour, window: time.Hour},
	}}
	// Each change is recorded in the trails of all stores of the website and of the platform.
	perWebsiteChange = limit{quotas: []quota{
		{name: "website changes", per: perWebsite, most: 30, window: time.Hour},
	}}
	perStream = limit{streams: identity.StreamLimits{Store: 50, Website: 100}}
)

// any reports whether a limit names a budget of callers.
func (l limit) any() bool { return l.address || l.session }

// byCredential reports whether requests of a route take a token from the bucket of their credential.
func (rt *route) byCredential() bool { return rt.byAccessToken() && !rt.Limit.session }

// accountFactor is the ratio of an account's budget to an address's. With a smaller one, a few wrong
// guesses could lock an owner out.
const accountFactor = 10

// networkFactor is the ratio of the budget of an IPv6 /48 to that of an address.
const networkFactor = 10

// limiter holds the limits. The database counts the requests, for all replicas together.
type limiter struct {
	key    []byte // of the MACs that identify budgets; the same in all replicas
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

// budget returns a budget for COMANDA_AUTH_RATE_LIMIT requests, times factor.
func (l limiter) budget(factor int, parts ...string) identity.Budget {
	return identity.Budget{Key: l.mac(parts...), Most: factor * l.most}
}

// mac returns the key of a budget. It is a MAC, so that the database does not contain addresses and accounts.
func (l limiter) mac(parts ...string) []byte {
	mac := hmac.New(sha256.New, l.key)
	for _, part := range parts {
		fmt.Fprintf(mac, "%d:%s", len(part), part) // so that other parts never have the same text
	}
	return mac.Sum(nil)
}

// address returns the budgets of a client address. The second one, of an IPv6 network, is for a client that changes its
// /64: providers assign as much as a /48 to one customer.
func (l limiter) address(c *call) []identity.Budget {
	client := c.exchange.client
	budgets := []identity.Budget{l.budget(1, "address", network(client))}
	if client.Is6() {
		budgets = append(budgets, l.budget(networkFactor, "network", neighborhood(client)))
	}
	return budgets
}

// exactly returns a budget that does not depend on the configured limit.
func (l limiter) exactly(most int, parts ...string) identity.Budget {
	return identity.Budget{Key: l.mac(parts...), Most: most}
}

// limitCaller counts a request against the budgets of the client address and of the account that it names,
// before its credential is read.
func (s *Server) limitCaller(ctx context.Context, c *call) error {
	l := c.route.Limit
	var budgets []identity.Budget
	if l.address && (!l.cookieless || len(cookies(c.request.Header, c.route.Cookie)) == 0) {
		budgets = s.limiter.address(c)
	}
	account, named := c.account(l.account)
	if named && l.invitation {
		var err error
		if account, named, err = s.invitedAccount(ctx, c, account); err != nil {
			return err
		}
	}
	if named {
		budgets = append(budgets, s.limiter.budget(accountFactor, account...))
	}
	if budgets == nil {
		return nil
	}
	return s.takeLimits(ctx, c, s.limiter.window, budgets...)
}

// takeLimits counts a request against budgets, with one of the connections that its owner may use for lookups.
func (s *Server) takeLimits(ctx context.Context, c *call, window time.Duration, budgets ...identity.Budget) error {
	return s.work.run(ctx, s.work.lookupLimits(c), func() error { return s.db.TakeRateLimits(ctx, window, budgets...) })
}

// invitedAccount returns the account of the email that a token invites, which is the account of its login. named
// is false if the token is unknown.
func (s *Server) invitedAccount(
	ctx context.Context, c *call, byToken []string,
) (account []string, named bool, err error) {
	var email string
	err = s.work.run(ctx, s.work.lookupLimits(c), func() (err error) {
		email, err = s.db.InvitedEmail(ctx, app.NewSecret(byToken[len(byToken)-1]))
		return err
	})
	return []string{"account", c.surface(), app.NormalEmail(email)}, email != "", err
}

// limitPrincipal counts a request against the budget of its session or, on other routes, takes a token from the bucket
// of its credential.
func (s *Server) limitPrincipal(ctx context.Context, c *call) error {
	if c.route.byCredential() || c.principal.APIKeyID != "" {
		return s.limitCredential(c)
	}
	session := c.principal.SessionID
	if session == "" { // the credential is a refresh token
		session = c.refresh.session
	}
	if !c.route.Limit.session || session == "" {
		return nil
	}
	return s.limitSession(ctx, c, session)
}

// limitCredential takes a token from the bucket of the credential and from that of its website, and sets the headers
// that describe the bucket that is nearer to its end.
func (s *Server) limitCredential(c *call) error {
	p := c.principal
	state := s.buckets.take(cmp.Or(string(p.APIKeyID), string(p.SessionID)), string(p.WebsiteID))
	c.exchange.Header().Set("RateLimit-Policy", state.of.policy())
	c.exchange.Header().Set("RateLimit", state.header())
	if state.wait > 0 {
		return app.RateLimited(state.wait)
	}
	return nil
}

// limitUnknown counts a request with a credential that belongs to nobody against the budget of the client address, with
// a connection of requests without a credential. It returns refusal, or RATE_LIMITED if the budget is used up.
func (s *Server) limitUnknown(ctx context.Context, c *call, refusal error) error {
	err := s.work.run(ctx, s.work.publicLookups("public lookups", c.owner()), func() error {
		return s.db.TakeRateLimits(ctx, s.limiter.window, s.limiter.address(c)...)
	})
	return cmp.Or(err, refusal)
}

// limitQuotas counts a request against the quotas of its route. Handlers call it after the check of existence and
// before the business rule. store is the store of the principal, or the one in which it registers.
func (s *Server) limitQuotas(ctx context.Context, c *call, store app.StoreID) error {
	owners := map[owner]string{
		perWebhook: c.id(), perStore: string(store), perWebsite: string(c.principal.WebsiteID),
		perSelf:    string(c.principal.CustomerID),
		perNetwork: string(store) + " " + neighborhood(c.exchange.client),

		perCredential: c.principal.Credential(),
	}
	var budgets []identity.Budget
	for _, q := range c.route.Limit.quotas {
		if owners[q.per] == "" {
			continue
		}
		budget := s.limiter.budget(q.factor, "quota", q.name, string(q.per), owners[q.per])
		budget.Most = cmp.Or(q.most, budget.Most)
		budgets = append(budgets, budget)
	}
	if budgets == nil {
		return nil
	}
	return s.takeLimits(ctx, c, c.route.Limit.quotas[0].window, budgets...)
}

// limitSession counts a request against a session's budget.
func (s *Server) limitSession(ctx context.Context, c *call, session app.SessionID) error {
	return s.takeLimits(ctx, c, s.limiter.window, s.limiter.budget(1, "session", c.surface(), string(session)))
}

// limitAccount counts an attempt to guess the password of an account against the account's budget, which the
// routes share that log in to it. account is the email, in the customer realm the store and the email.
func (s *Server) limitAccount(ctx context.Context, c *call, account ...string) error {
	parts := append([]string{"account", c.surface()}, account...)
	return s.takeLimits(ctx, c, s.limiter.window, s.limiter.budget(accountFactor, parts...))
}

// surface separates the budgets of customers from those of users.
func (c *call) surface() string {
	if c.route.accepts(app.RealmCustomer) {
		return "customer-auth"
	}
	return "auth"
}

// account returns the members of the body that name the account. named is false if one is missing, repeated or not a
// string; validation refuses such a body later.
func (c *call) account(members []string) (account []string, named bool) {
	if members == nil {
		return nil, false
	}
	values := topLevelTexts(c.body, members)
	account = []string{"account", c.surface()}
	for _, name := range members {
		value, given := values[name]
		if !given {
			return nil, false
		}
		if name == "email" {
			value = app.NormalEmail(value)
		}
		account = append(account, value)
	}
	return account, true
}

// maxTopLevelText is the maximum length of a text in JSON that [topLevelTexts] reads: an id, an email or a token.
const maxTopLevelText = 16 << 10

// topLevelTexts returns some members of a body that are strings; none if one of them is repeated. It skips all others,
// without building their values, and returns "" for a text that is too long.
func topLevelTexts(body []byte, members []string) map[string]string {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return nil
	}
	values, seen := map[string]string{}, map[string]bool{}
	for decoder.PeekKind() == '"' {
		name, _ := decoder.ReadValue() // a part of the body
		i := slices.Index(members, shortText(name))
		if i >= 0 && seen[members[i]] {
			return nil
		}
		if i < 0 || decoder.PeekKind() != '"' {
			_ = decoder.SkipValue() // cannot fail: the syntax was checked
			continue
		}
		value, _ := decoder.ReadValue()
		seen[members[i]], values[members[i]] = true, shortText(value)
	}
	return values
}

// shortText returns a string in JSON, or "" if it is longer than maxTopLevelText.
func shortText(value jsontext.Value) string {
	if len(value) > maxTopLevelText {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text)
}

// neighborhood returns the network of a client whose addresses one customer of a provider can easily change: for IPv4
// the /24, for IPv6 the /48.
func neighborhood(client netip.Addr) string {
	bits := 24
	if client.Is6() {
		bits = 48
	}
	return netip.PrefixFrom(client, bits).Masked().String()
}

// network returns the address that identifies a client: for IPv6 the /64, which is what providers assign to
// one customer.
func network(client netip.Addr) string {
	if client.Is6() {
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}
