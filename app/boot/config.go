package boot

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
)

// Part is what a process does. Parts can be joined.
type Part int

const (
	API    Part = 1 << iota // answers HTTP
	Worker                  // delivers events
)

// Where health and metrics are unless COMANDA_ADMIN_LISTEN says otherwise: apart, so that
// the API and a worker can run side by side.
const (
	defaultAdminListen       = "127.0.0.1:8444"
	defaultWorkerAdminListen = "127.0.0.1:8445"
)

// maxAuthRateLimit bounds what is kept for one address or account: ten times as many times.
const maxAuthRateLimit = 10_000

// Bounds of ReconcileAfter. Below a second, deliveries that are about to be attempted would be looked up.
const (
	minReconcileAfter = time.Second
	maxReconcileAfter = 24 * time.Hour
)

// maxWatchdogDays is far more than anybody waits for a receiver.
const maxWatchdogDays = 365

// Config is what the environment says (contract §6), checked as a whole.
type Config struct {
	parts Part

	DatabaseURL app.Secret `env:"DATABASE_URL,required,notEmpty"`
	SecretKeys  app.Secret `env:"COMANDA_SECRET_KEYS,required,notEmpty"`

	Listen         string     `env:"COMANDA_LISTEN" envDefault:":8443"`
	AdminListen    string     `env:"COMANDA_ADMIN_LISTEN"`
	BaseURL        string     `env:"COMANDA_BASE_URL" envDefault:"https://localhost:8443"`
	TLSCert        string     `env:"COMANDA_TLS_CERT"`
	TLSKey         string     `env:"COMANDA_TLS_KEY"`
	TrustedProxies prefixList `env:"COMANDA_TRUSTED_PROXIES"`
	CORSOrigins    originList `env:"COMANDA_CORS_ORIGINS"`

	AccessTokenTTL     time.Duration `env:"COMANDA_ACCESS_TOKEN_TTL" envDefault:"15m"`
	RefreshTokenTTL    time.Duration `env:"COMANDA_REFRESH_TOKEN_TTL" envDefault:"168h"`
	RefreshReuseLeeway time.Duration `env:"COMANDA_REFRESH_REUSE_LEEWAY" envDefault:"0s"`
	SessionMaxAge      time.Duration `env:"COMANDA_SESSION_MAX_AGE" envDefault:"720h"` // 0 = for ever
	AuthRateLimit      int           `env:"COMANDA_AUTH_RATE_LIMIT" envDefault:"10"`
	AuthRateWindow     time.Duration `env:"COMANDA_AUTH_RATE_WINDOW" envDefault:"60s"`

	RetrySchedule       retrySchedule `env:"COMANDA_RETRY_SCHEDULE" envDefault:"30s,5m,30m,2h,6h"`
	DeliveryTimeout     time.Duration `env:"COMANDA_DELIVERY_TIMEOUT" envDefault:"10s"`
	DeadLetterRetention time.Duration `env:"COMANDA_DEAD_LETTER_RETENTION" envDefault:"720h"`
	PlanWindow          time.Duration `env:"COMANDA_PLAN_WINDOW" envDefault:"1h"`
	LogRetention        time.Duration `env:"COMANDA_LOG_RETENTION" envDefault:"2160h"`
	WatchdogDay         time.Duration `env:"COMANDA_WATCHDOG_DAY" envDefault:"24h"`
	WatchdogDays        int           `env:"COMANDA_WATCHDOG_DAYS" envDefault:"7"`
	Burst               burst         `env:"COMANDA_BURST" envDefault:"auto"`
	ReconcileAfter      time.Duration `env:"COMANDA_RECONCILE_AFTER" envDefault:"3m"` // see contract §4, Delivery
	EgressAllow         prefixList    `env:"COMANDA_EGRESS_ALLOW"`
	EgressCAFile        string        `env:"COMANDA_EGRESS_CA_FILE"`

	SMTPURL app.Secret `env:"COMANDA_SMTP_URL"` // the API orders mails, a worker sends them

	TemporalUIURL string `env:"COMANDA_TEMPORAL_UI_URL"` // "" = clients are not told where it is

	Google   provider `envPrefix:"COMANDA_GOOGLE_"`
	Apple    provider `envPrefix:"COMANDA_APPLE_"`
	Facebook provider `envPrefix:"COMANDA_FACEBOOK_"`

	LogLevel zerolog.Level `env:"COMANDA_LOG_LEVEL" envDefault:"info"`

	// StopTimeout is how long a worker that stops waits for attempts in flight. It is not read
	// from the environment; 0 = as long as an attempt can take. Less repeats POSTs.
	StopTimeout time.Duration `env:"-"`

	keyring     app.Keyring
	certificate *tls.Certificate // nil = plain HTTP, behind a trusted proxy
	egressCAs   *x509.CertPool   // nil = the system's
	smtp        *activities.SMTP // nil = no mails
	temporal    client.Options
}

// provider is where customers may log in, see api.Provider.
type provider struct {
	ClientIDs list   `env:"CLIENT_IDS"`
	Issuer    string `env:"ISSUER"`
	JWKSURL   string `env:"JWKS_URL"`
}

// list is a comma-separated list without blanks.
type list []string

// UnmarshalText reads the list.
func (l *list) UnmarshalText(text []byte) error {
	*l = nil
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}

// providers returns the settings of social logins.
func (c *Config) providers() map[app.Provider]api.Provider {
	providers := map[app.Provider]api.Provider{}
	for name, p := range map[app.Provider]provider{app.ProviderGoogle: c.Google, app.ProviderApple: c.Apple, app.ProviderFacebook: c.Facebook} {
		providers[name] = api.Provider{ClientIDs: p.ClientIDs, Issuer: p.Issuer, JWKSURL: p.JWKSURL}
	}
	return providers
}

// prefixList is a comma-separated list of CIDRs and addresses; "none" is the empty one.
type prefixList []netip.Prefix

// UnmarshalText reads the list.
func (l *prefixList) UnmarshalText(text []byte) error {
	*l = nil
	if s := strings.TrimSpace(string(text)); s == "" || s == "none" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			address, err := netip.ParseAddr(part)
			if err != nil {
				return fmt.Errorf("%q is neither an address nor a CIDR", part)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		*l = append(*l, prefix.Masked())
	}
	return nil
}

// originList is a comma-separated list of origins, written as browsers write them.
type originList []string

// UnmarshalText reads the list.
func (l *originList) UnmarshalText(text []byte) error {
	*l = nil
	if strings.TrimSpace(string(text)) == "" {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		origin := strings.TrimSpace(part)
		if !isOrigin(origin) {
			return fmt.Errorf("%q is no origin such as https://shop.example.com: no path, no port that goes without saying, in lower case, and http for localhost only", origin)
		}
		*l = append(*l, origin)
	}
	return nil
}

// isOrigin reports whether a browser can send s as the origin of a page that came over
// HTTPS, or from the developer's own machine.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || s != u.Scheme+"://"+u.Host || s != strings.ToLower(s) || strings.HasSuffix(u.Host, ":") || strings.Contains(u.Host, "*") {
		return false
	}
	switch u.Scheme {
	case "https":
		return u.Port() != "443"
	case "http":
		return u.Hostname() == "localhost" && u.Port() != "80"
	}
	return false
}

type retrySchedule app.RetrySchedule

// UnmarshalText reads comma-separated durations.
func (s *retrySchedule) UnmarshalText(text []byte) error {
	schedule, err := app.ParseRetrySchedule(string(text))
	*s = retrySchedule(schedule)
	return err
}

// burst says when first attempts share a workflow.
type burst string

const (
	burstAuto   burst = "auto"   // under load
	burstOff    burst = "off"    // never
	burstAlways burst = "always" // whenever several are claimed together; for tests
)

// UnmarshalText reads the word.
func (b *burst) UnmarshalText(text []byte) error {
	switch word := burst(text); word {
	case burstAuto, burstOff, burstAlways:
		*b = word
		return nil
	default:
		return fmt.Errorf("%q is neither auto nor off", word)
	}
}

// limit applies the setting to the limits of a relay.
func (b burst) limit(limits app.ClaimLimits) app.ClaimLimits {
	switch b {
	case burstOff:
		limits.Burst = 0
	case burstAlways:
		limits.BurstAfter = 0
	}
	return limits
}

// Load reads the configuration of a process with those parts from its environment. The
// error names every fault, one a line.
func Load(environ map[string]string, parts Part) (Config, error) {
	config := Config{parts: parts}
	var faults []error
	err := env.ParseWithOptions(&config, env.Options{
		Environment: environ,
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[app.Secret](): func(v string) (any, error) { return app.NewSecret(v), nil },
		},
	})
	if aggregate, ok := errors.AsType[env.AggregateError](err); ok {
		for _, fault := range aggregate.Errors {
			faults = append(faults, named(fault))
		}
	} else if err != nil {
		faults = append(faults, err)
	}
	if err := CheckVariables(environ); err != nil {
		faults = append(faults, err)
	}
	for _, fault := range config.check(environ) {
		name, _, _ := strings.Cut(fault.Error(), ":")
		known := func(f error) bool { return strings.HasPrefix(f.Error(), name+":") }
		if !slices.ContainsFunc(faults, known) { // what could not be read is its default, and not worth another line
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return Config{}, fmt.Errorf("the configuration has faults:\n%w", errors.Join(faults...))
	}
	return config, nil
}

// named makes a fault of the library speak of the variable instead of the field.
func named(fault error) error {
	if parse, ok := errors.AsType[env.ParseError](fault); ok {
		if field, ok := reflect.TypeFor[Config]().FieldByName(parse.Name); ok {
			name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
			return fmt.Errorf("%s: %w", name, parse.Err)
		}
	}
	if missing, ok := errors.AsType[env.VarIsNotSetError](fault); ok {
		return fmt.Errorf("%s: is required", missing.Key)
	}
	if empty, ok := errors.AsType[env.EmptyVarError](fault); ok {
		return fmt.Errorf("%s: is required", empty.Key)
	}
	return fault
}

// check finds the faults that a type does not, and loads what the configuration names.
func (c *Config) check(environ map[string]string) []error {
	var faults []error
	fault := func(name string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	var err error
	if c.SecretKeys.Len() > 0 {
		c.keyring, err = app.NewKeyring(c.SecretKeys)
		fault("COMANDA_SECRET_KEYS", err)
	}
	if c.AdminListen == "" {
		c.AdminListen = defaultAdminListen
		if c.parts == Worker {
			c.AdminListen = defaultWorkerAdminListen
		}
	}
	for name, d := range map[string]time.Duration{
		"COMANDA_ACCESS_TOKEN_TTL": c.AccessTokenTTL, "COMANDA_REFRESH_TOKEN_TTL": c.RefreshTokenTTL,
		"COMANDA_AUTH_RATE_WINDOW": c.AuthRateWindow, "COMANDA_DELIVERY_TIMEOUT": c.DeliveryTimeout, "COMANDA_DEAD_LETTER_RETENTION": c.DeadLetterRetention,
		"COMANDA_LOG_RETENTION": c.LogRetention, "COMANDA_WATCHDOG_DAY": c.WatchdogDay,
	} {
		if d <= 0 {
			fault(name, errors.New("must be a positive duration"))
		}
	}
	for name, d := range map[string]time.Duration{
		"COMANDA_REFRESH_REUSE_LEEWAY": c.RefreshReuseLeeway, "COMANDA_SESSION_MAX_AGE": c.SessionMaxAge,
	} {
		if d < 0 {
			fault(name, errors.New("must not be negative"))
		}
	}
	if c.DeliveryTimeout > time.Minute {
		fault("COMANDA_DELIVERY_TIMEOUT", errors.New("must be at most 1m"))
	}
	if c.PlanWindow < time.Second || c.PlanWindow > 24*time.Hour || c.PlanWindow%time.Second != 0 {
		fault("COMANDA_PLAN_WINDOW", errors.New("must be whole seconds from 1s to 24h"))
	}
	if c.ReconcileAfter < minReconcileAfter || c.ReconcileAfter > maxReconcileAfter {
		fault("COMANDA_RECONCILE_AFTER", errors.New("must be from 1s to 24h"))
	}
	if c.LogRetention < max(c.DeadLetterRetention, c.WatchdogDay) { // whose days are counted in the log
		fault("COMANDA_LOG_RETENTION", errors.New("must not be shorter than COMANDA_DEAD_LETTER_RETENTION and COMANDA_WATCHDOG_DAY"))
	}
	if c.WatchdogDays < 1 || c.WatchdogDays > maxWatchdogDays {
		fault("COMANDA_WATCHDOG_DAYS", fmt.Errorf("must be from 1 to %d", maxWatchdogDays))
	}
	c.egressCAs, err = certPool(c.EgressCAFile)
	fault("COMANDA_EGRESS_CA_FILE", err)
	if c.SMTPURL.Len() > 0 {
		c.smtp, err = activities.NewSMTP(c.SMTPURL, c.egressCAs)
		fault("COMANDA_SMTP_URL", err)
		if environ["COMANDA_BASE_URL"] == "" {
			fault("COMANDA_BASE_URL", errors.New("must be set where COMANDA_SMTP_URL is: mails link to it"))
		} else if c.parts&API == 0 {
			c.checkBaseURL(fault)
		}
	}
	if c.parts&API != 0 {
		c.checkAPI(fault)
	}
	c.temporal, err = envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(environ)})
	fault("TEMPORAL_…", err)
	return faults
}

func (c *Config) checkBaseURL(fault func(string, error)) {
	if base, err := url.Parse(c.BaseURL); err != nil || base.Scheme != "https" || base.Host == "" {
		fault("COMANDA_BASE_URL", errors.New("must be an https URL"))
	}
}

func (c *Config) checkAPI(fault func(string, error)) {
	c.checkBaseURL(fault)
	if c.AuthRateLimit < 1 || c.AuthRateLimit > maxAuthRateLimit {
		fault("COMANDA_AUTH_RATE_LIMIT", fmt.Errorf("must be from 1 to %d", maxAuthRateLimit))
	}
	for name, p := range c.providers() {
		if keys, err := url.Parse(p.JWKSURL); p.JWKSURL != "" && (err != nil || keys.Scheme != "https" || keys.Host == "") {
			fault("COMANDA_"+strings.ToUpper(string(name))+"_JWKS_URL", errors.New("must be an https URL"))
		}
	}
	if ui, err := url.Parse(c.TemporalUIURL); c.TemporalUIURL != "" && (err != nil || ui.Scheme != "https" && ui.Scheme != "http" || ui.Host == "" || ui.RawQuery != "" || ui.Fragment != "") {
		fault("COMANDA_TEMPORAL_UI_URL", errors.New("must be an http or https URL"))
	}
	switch {
	case c.TLSCert != "" && c.TLSKey != "":
		certificate, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY", err)
		c.certificate = &certificate
	case c.TLSCert != "" || c.TLSKey != "":
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY", errors.New("both or neither must be set"))
	case len(c.TrustedProxies) == 0:
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY", errors.New("must be set, or COMANDA_TRUSTED_PROXIES, where a proxy speaks HTTPS for us"))
	}
}

// stopTimeout returns how long a worker that stops waits for attempts in flight.
func (c *Config) stopTimeout(policy activities.DeliveryPolicy) time.Duration {
	if c.StopTimeout != 0 {
		return c.StopTimeout
	}
	return policy.StopTimeout()
}

// workflowURL returns what stands before a workflow's id in the address of its page in
// Temporal's UI, "" if that is not known.
func (c *Config) workflowURL() string {
	if c.TemporalUIURL == "" {
		return ""
	}
	return strings.TrimRight(c.TemporalUIURL, "/") + "/namespaces/" + url.PathEscape(namespaceOf(c.temporal)) + "/workflows/"
}

// certPool returns the system's authorities with those of a file; nil when there is no file.
func certPool(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", file)
	}
	return pool, nil
}

// lookup serves Temporal's settings from the same environment as ours.
type lookup map[string]string

// Environ lists the environment as os.Environ does.
func (l lookup) Environ() []string {
	var all []string
	for k, v := range l {
		all = append(all, k+"="+v)
	}
	return all
}

// LookupEnv finds a variable as os.LookupEnv does.
func (l lookup) LookupEnv(key string) (string, bool) {
	v, ok := l[key]
	return v, ok
}
