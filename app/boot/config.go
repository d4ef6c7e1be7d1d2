package boot

import (
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
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Part is a set of the components that a process runs: API, Worker or both (API|Worker).
type Part int

const (
	API    Part = 1 << iota // the HTTP API and the dashboard
	Worker                  // the workflows and activities
)

// service returns the name of the process in traces.
func (p Part) service() string {
	switch p {
	case API:
		return "comanda-serve"
	case Worker:
		return "comanda-worker"
	}
	return "comanda"
}

// Default addresses of health and metrics. They differ, so that the API and a worker can run on one machine.
const (
	defaultAdminListen       = "127.0.0.1:8444"
	defaultWorkerAdminListen = "127.0.0.1:8445"
)

// maxAuthRateLimit is the maximum of AuthRateLimit. It bounds the stored times of requests per address and per account,
// which may be ten times as many.
const maxAuthRateLimit = 10_000

// maxAPIRate is the maximum of APIRate, APIBurst, WebsiteRate and WebsiteBurst.
const maxAPIRate = 100_000

// Bounds of ReconcileAfter. With less than a second, the reconciler would check deliveries whose attempt is about to
// start.
const (
	minReconcileAfter = time.Second
	maxReconcileAfter = 24 * time.Hour
)

// maxDatabaseConnections is the maximum of DatabaseConnections.
const maxDatabaseConnections = 10_000

// maxWatchdogDays is the maximum of WatchdogDays.
const maxWatchdogDays = 365

// Config is the validated configuration of a process, read from its environment. See [Load].
type Config struct {
	parts Part

	DatabaseURL       app.Secret `env:"DATABASE_URL,required,notEmpty"`
	SystemDatabaseURL app.Secret `env:"COMANDA_SYSTEM_DATABASE_URL"` // empty = DatabaseURL
	SecretKeys        app.Secret `env:"COMANDA_SECRET_KEYS,required,notEmpty"`

	// DatabaseConnections is the number of connections of all pools. The connections that listen are extra.
	DatabaseConnections int `env:"COMANDA_DATABASE_CONNECTIONS" envDefault:"24"`

	Listen         string     `env:"COMANDA_LISTEN" envDefault:":8443"`
	AdminListen    string     `env:"COMANDA_ADMIN_LISTEN"`
	BaseURL        string     `env:"COMANDA_BASE_URL" envDefault:"https://localhost:8443"`
	TLSCert        string     `env:"COMANDA_TLS_CERT"`
	TLSKey         string     `env:"COMANDA_TLS_KEY"`
	TrustedProxies prefixList `env:"COMANDA_TRUSTED_PROXIES"`
	ProxyProtocol  prefixList `env:"COMANDA_PROXY_PROTOCOL"` // load balancers that name the client of a connection
	CORSOrigins    originList `env:"COMANDA_CORS_ORIGINS"`
	Docs           onOff      `env:"COMANDA_DOCS" envDefault:"on"`
	Pprof          onOff      `env:"COMANDA_PPROF" envDefault:"off"` // profiles on AdminListen

	// DrainDelay is the time between the end of readiness and the end of the API's listener.
	DrainDelay time.Duration `env:"COMANDA_DRAIN_DELAY" envDefault:"5s"`

	AccessTokenTTL     time.Duration `env:"COMANDA_ACCESS_TOKEN_TTL" envDefault:"15m"`
	RefreshTokenTTL    time.Duration `env:"COMANDA_REFRESH_TOKEN_TTL" envDefault:"168h"`
	RefreshReuseLeeway time.Duration `env:"COMANDA_REFRESH_REUSE_LEEWAY" envDefault:"0s"`
	SessionMaxAge      time.Duration `env:"COMANDA_SESSION_MAX_AGE" envDefault:"720h"` // 0 = unlimited
	PlatformOTP        requirement   `env:"COMANDA_PLATFORM_OTP" envDefault:"required"`
	AuthRateLimit      int           `env:"COMANDA_AUTH_RATE_LIMIT" envDefault:"10"`
	AuthRateWindow     time.Duration `env:"COMANDA_AUTH_RATE_WINDOW" envDefault:"60s"`
	APIRate            int           `env:"COMANDA_API_RATE" envDefault:"50"`
	APIBurst           int           `env:"COMANDA_API_BURST" envDefault:"100"`
	WebsiteRate        int           `env:"COMANDA_WEBSITE_RATE" envDefault:"500"`
	WebsiteBurst       int           `env:"COMANDA_WEBSITE_BURST" envDefault:"1000"`

	RetrySchedule       retrySchedule `env:"COMANDA_RETRY_SCHEDULE" envDefault:"30s,5m,30m,2h,6h"`
	DeliveryTimeout     time.Duration `env:"COMANDA_DELIVERY_TIMEOUT" envDefault:"10s"`
	DeadLetterRetention time.Duration `env:"COMANDA_DEAD_LETTER_RETENTION" envDefault:"720h"`
	PlanWindow          time.Duration `env:"COMANDA_PLAN_WINDOW" envDefault:"1h"`
	LogRetention        time.Duration `env:"COMANDA_LOG_RETENTION" envDefault:"2160h"`
	AuditRetention      time.Duration `env:"COMANDA_AUDIT_RETENTION" envDefault:"9600h"`
	WatchdogDay         time.Duration `env:"COMANDA_WATCHDOG_DAY" envDefault:"24h"`
	WatchdogDays        int           `env:"COMANDA_WATCHDOG_DAYS" envDefault:"7"`
	Burst               burst         `env:"COMANDA_BURST" envDefault:"auto"`
	ReconcileAfter      time.Duration `env:"COMANDA_RECONCILE_AFTER" envDefault:"3m"`
	EgressAllow         prefixList    `env:"COMANDA_EGRESS_ALLOW"`
	EgressCAFile        string        `env:"COMANDA_EGRESS_CA_FILE"`

	SMTPURL app.Secret `env:"COMANDA_SMTP_URL"` // the API enqueues mails, a worker sends them

	TemporalUIURL string `env:"COMANDA_TEMPORAL_UI_URL"` // "" = no links to workflows

	Google   provider `envPrefix:"COMANDA_GOOGLE_"`
	Apple    provider `envPrefix:"COMANDA_APPLE_"`
	Facebook provider `envPrefix:"COMANDA_FACEBOOK_"`

	LogLevel zerolog.Level `env:"COMANDA_LOG_LEVEL" envDefault:"info"`

	// StopTimeout is the time for which a stopping worker waits for running attempts. If it is shorter than an attempt,
	// another worker repeats the POST. 0 means the maximum duration of an attempt. It is not read from the environment.
	StopTimeout time.Duration `env:"-"`

	sealer      app.Sealer
	keyring     app.Keyring      // derives the keys of tokens; only the API has it
	certificate *certificate     // nil = plain HTTP behind a trusted proxy
	egressCAs   *x509.CertPool   // nil = the system's certificate authorities
	smtp        *activities.SMTP // nil = mails are disabled
	temporal    client.Options
	tracing     tracing
}

// provider is the configuration of an identity provider for customers, see api.Provider.
type provider struct {
	Issuer  string `env:"ISSUER"`
	JWKSURL string `env:"JWKS_URL"`
}

// providers returns the configuration of all identity providers.
func (c *Config) providers() map[app.Provider]api.Provider {
	providers := map[app.Provider]api.Provider{}
	for name, p := range map[app.Provider]provider{
		app.ProviderGoogle: c.Google, app.ProviderApple: c.Apple, app.ProviderFacebook: c.Facebook,
	} {
		providers[name] = api.Provider{Issuer: p.Issuer, JWKSURL: p.JWKSURL}
	}
	return providers
}

// requirement is whether something is required.
type requirement string

const (
	required requirement = "required"
	optional requirement = "optional"
)

// UnmarshalText accepts one of the constants.
func (r *requirement) UnmarshalText(text []byte) error {
	switch word := requirement(text); word {
	case required, optional:
		*r = word
		return nil
	default:
		return fmt.Errorf("%q must be required or optional", word)
	}
}

// Load reads and checks the configuration of a process from its environment. It checks the API's variables only if
// parts contains API. The error lists all faults, one per line, as "VARIABLE: fault".
func Load(environ map[string]string, parts Part) (Config, error) {
	config := Config{parts: parts}
	var faults []error
	environ, unread := readFiles(environ)
	for _, fault := range unread {
		faults = append(faults, fault)
	}
	err := env.ParseWithOptions(&config, env.Options{
		Environment: environ,
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[app.Secret](): func(v string) (any, error) { return app.NewSecret(v), nil },
		},
	})
	if aggregate, ok := errors.AsType[env.AggregateError](err); ok {
		for _, fault := range aggregate.Errors {
			fault := named(fault)
			if name, _, _ := strings.Cut(fault.Error(), ":"); unread[name] == nil { // otherwise it is missing
				faults = append(faults, fault)
			}
		}
	} else if err != nil {
		faults = append(faults, err)
	}
	if err := CheckVariables(environ); err != nil {
		faults = append(faults, err)
	}
	if config.tracing, err = loadTracing(environ); err != nil {
		faults = append(faults, err)
	}
	for _, fault := range config.check(environ) {
		name, _, _ := strings.Cut(fault.Error(), ":")
		known := func(f error) bool { return strings.HasPrefix(f.Error(), name+":") }
		if !slices.ContainsFunc(faults, known) { // one fault per variable: if parsing failed, do not check the default
			faults = append(faults, fault)
		}
	}
	if len(faults) > 0 {
		return Config{}, fmt.Errorf("the configuration is invalid:\n%w", errors.Join(faults...))
	}
	if parts == Worker {
		return config.ofWorker(), nil
	}
	return config, nil
}

// ofWorker returns the configuration without the keys that sign and verify tokens, which a worker never does. It seals
// and opens secrets only.
func (c Config) ofWorker() Config {
	c.SecretKeys, c.keyring = app.Secret{}, app.Keyring{}
	return c
}

// named converts an error of package env, which names the field, to an error that names the variable.
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

// check sets defaults, loads the files and parses the URLs of the configuration, and returns all faults.
func (c *Config) check(environ map[string]string) []error {
	var faults []error
	fault := func(name string, err error) {
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	var err error
	fault("DATABASE_URL", checkDecided(c.DatabaseURL.Reveal()))
	fault("COMANDA_SYSTEM_DATABASE_URL", checkDecided(c.SystemDatabaseURL.Reveal()))
	if c.SecretKeys.Len() > 0 {
		c.keyring, err = app.NewKeyring(c.SecretKeys)
		c.sealer = c.keyring.Sealer()
		fault("COMANDA_SECRET_KEYS", err)
	}
	if c.AdminListen == "" {
		c.AdminListen = defaultAdminListen
		if c.parts == Worker {
			c.AdminListen = defaultWorkerAdminListen
		}
	}
	if least := c.minConnections(); c.DatabaseConnections < least || c.DatabaseConnections > maxDatabaseConnections {
		fault("COMANDA_DATABASE_CONNECTIONS", fmt.Errorf("must be from %d to %d", least, maxDatabaseConnections))
	}
	c.checkDurations(fault)
	c.checkDelivery(fault)
	c.egressCAs, err = certPool(c.EgressCAFile)
	fault("COMANDA_EGRESS_CA_FILE", err)
	if c.SMTPURL.Len() > 0 {
		c.checkMails(fault, environ["COMANDA_BASE_URL"] != "")
	}
	if c.parts&API != 0 {
		c.checkAPI(fault)
	}
	c.temporal, err = envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(environ)})
	fault("TEMPORAL_…", err)
	return faults
}

// minConnections returns the minimum of DatabaseConnections.
func (c *Config) minConnections() int {
	if c.parts == API|Worker {
		return 2 * pg.MinConns
	}
	return pg.MinConns
}

// pools returns the pools of each part of the process. In a process with both parts, each has a half of the
// connections.
func (c *Config) pools() map[Part][]pg.Pool {
	switch conns := c.DatabaseConnections; c.parts {
	case API:
		return map[Part][]pg.Pool{API: pg.ServePools(conns)}
	case Worker:
		return map[Part][]pg.Pool{Worker: pg.WorkerPools(conns)}
	default:
		return map[Part][]pg.Pool{API: pg.ServePools(conns / 2), Worker: pg.WorkerPools(conns / 2)}
	}
}

// checkDurations checks the sign of all durations.
func (c *Config) checkDurations(fault func(string, error)) {
	for name, d := range map[string]time.Duration{
		"COMANDA_ACCESS_TOKEN_TTL": c.AccessTokenTTL, "COMANDA_REFRESH_TOKEN_TTL": c.RefreshTokenTTL,
		"COMANDA_AUTH_RATE_WINDOW": c.AuthRateWindow, "COMANDA_DELIVERY_TIMEOUT": c.DeliveryTimeout,
		"COMANDA_DEAD_LETTER_RETENTION": c.DeadLetterRetention, "COMANDA_LOG_RETENTION": c.LogRetention,
		"COMANDA_WATCHDOG_DAY": c.WatchdogDay,
	} {
		if d <= 0 {
			fault(name, errors.New("must be a positive duration"))
		}
	}
	for name, d := range map[string]time.Duration{
		"COMANDA_REFRESH_REUSE_LEEWAY": c.RefreshReuseLeeway, "COMANDA_SESSION_MAX_AGE": c.SessionMaxAge,
		"COMANDA_DRAIN_DELAY": c.DrainDelay,
	} {
		if d < 0 {
			fault(name, errors.New("must not be negative"))
		}
	}
}

// checkDelivery checks the limits of deliveries, of their retention and of the audit trails' retention.
func (c *Config) checkDelivery(fault func(string, error)) {
	if c.DeliveryTimeout > time.Minute {
		fault("COMANDA_DELIVERY_TIMEOUT", errors.New("must be at most 1m"))
	}
	if c.PlanWindow < time.Second || c.PlanWindow > 24*time.Hour || c.PlanWindow%time.Second != 0 {
		fault("COMANDA_PLAN_WINDOW", errors.New("must be whole seconds from 1s to 24h"))
	}
	if c.ReconcileAfter < minReconcileAfter || c.ReconcileAfter > maxReconcileAfter {
		fault("COMANDA_RECONCILE_AFTER", errors.New("must be from 1s to 24h"))
	}
	if c.LogRetention < max(c.DeadLetterRetention, c.WatchdogDay) { // the watchdog counts attempts in the log
		fault("COMANDA_LOG_RETENTION",
			errors.New("must not be shorter than COMANDA_DEAD_LETTER_RETENTION and COMANDA_WATCHDOG_DAY"))
	}
	if c.AuditRetention < app.MinAuditRetention {
		fault("COMANDA_AUDIT_RETENTION", fmt.Errorf("must be at least %dh", app.MinAuditRetention/time.Hour))
	}
	if c.WatchdogDays < 1 || c.WatchdogDays > maxWatchdogDays {
		fault("COMANDA_WATCHDOG_DAYS", fmt.Errorf("must be from 1 to %d", maxWatchdogDays))
	}
}

// checkMails checks the mail server and the base URL, which is the prefix of links in mails.
func (c *Config) checkMails(fault func(string, error), hasBaseURL bool) {
	var err error
	c.smtp, err = activities.NewSMTP(c.SMTPURL, c.egressCAs)
	fault("COMANDA_SMTP_URL", err)
	if !hasBaseURL {
		fault("COMANDA_BASE_URL", errors.New("must be set if COMANDA_SMTP_URL is set, because mails contain links"))
	} else if c.parts&API == 0 {
		c.checkBaseURL(fault)
	}
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
	for name, n := range map[string]int{
		"COMANDA_API_RATE": c.APIRate, "COMANDA_API_BURST": c.APIBurst,
		"COMANDA_WEBSITE_RATE": c.WebsiteRate, "COMANDA_WEBSITE_BURST": c.WebsiteBurst,
	} {
		if n < 1 || n > maxAPIRate {
			fault(name, fmt.Errorf("must be from 1 to %d", maxAPIRate))
		}
	}
	for name, p := range c.providers() {
		keys, err := url.Parse(p.JWKSURL)
		if p.JWKSURL != "" && (err != nil || keys.Scheme != "https" || keys.Host == "") {
			fault("COMANDA_"+strings.ToUpper(string(name))+"_JWKS_URL", errors.New("must be an https URL"))
		}
	}
	if c.TemporalUIURL != "" && !isPlainURL(c.TemporalUIURL) {
		fault("COMANDA_TEMPORAL_UI_URL", errors.New("must be an http or https URL without query and fragment"))
	}
	for name, trusted := range map[string][]netip.Prefix{
		"COMANDA_PROXY_PROTOCOL": c.ProxyProtocol, "COMANDA_TRUSTED_PROXIES": c.TrustedProxies,
	} {
		if slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Bits() == 0 }) {
			fault(name, errors.New("must not contain all addresses (0.0.0.0/0 or ::/0): "+
				"every client could name any address; list the load balancers"))
		}
	}
	switch {
	case c.TLSCert != "" && c.TLSKey != "":
		var err error
		c.certificate, err = newCertificate(c.TLSCert, c.TLSKey)
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY", err)
	case c.TLSCert != "" || c.TLSKey != "":
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY", errors.New("both or neither must be set"))
	case len(c.TrustedProxies) == 0:
		fault("COMANDA_TLS_CERT, COMANDA_TLS_KEY",
			errors.New("must be set, or COMANDA_TRUSTED_PROXIES if a proxy terminates TLS"))
	}
}

// isPlainURL reports whether raw is an http or https URL without query and fragment.
func isPlainURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.RawQuery == "" &&
		u.Fragment == ""
}

// stopTimeout returns the time for which a stopping worker waits for running attempts.
func (c *Config) stopTimeout(policy activities.DeliveryPolicy) time.Duration {
	if c.StopTimeout != 0 {
		return c.StopTimeout
	}
	return policy.StopTimeout()
}

// workflowURL returns the prefix of the URL of a workflow's page in Temporal's UI, which the workflow's id completes.
// It is empty if the UI's address is not configured.
func (c *Config) workflowURL() string {
	if c.TemporalUIURL == "" {
		return ""
	}
	namespace := url.PathEscape(namespaceOf(c.temporal))
	return strings.TrimRight(c.TemporalUIURL, "/") + "/namespaces/" + namespace + "/workflows/"
}

// certPool returns the system's certificate authorities and those of a PEM file. It returns nil if file is empty.
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
		return nil, fmt.Errorf("%s contains no certificate in PEM format", file)
	}
	return pool, nil
}

// lookup makes the process's environment available to Temporal's envconfig.
type lookup map[string]string

// Environ returns the environment in the format of [os.Environ].
func (l lookup) Environ() []string {
	var all []string
	for k, v := range l {
		all = append(all, k+"="+v)
	}
	return all
}

// LookupEnv returns a variable like [os.LookupEnv].
func (l lookup) LookupEnv(key string) (string, bool) {
	v, ok := l[key]
	return v, ok
}
