package e2e

import (
	"net/url"
	"testing"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// proxied returns proxies to PostgreSQL and Temporal, and the settings of a process that connects through them.
func proxied(t *testing.T) (postgres, temporal *harness.Proxy, settings map[string]string) {
	t.Helper()
	postgres, err := harness.NewProxy(databaseHost(t))
	must(t, err)
	t.Cleanup(postgres.Close)
	settings = databaseAt(t, postgres.Address)
	temporal, err = harness.NewProxy(worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"])
	must(t, err)
	t.Cleanup(temporal.Close)
	settings["TEMPORAL_ADDRESS"] = temporal.Address
	return postgres, temporal, settings
}

// databaseVariables are the variables with the URLs of the two logins.
var databaseVariables = [...]string{"DATABASE_URL", "COMANDA_SYSTEM_DATABASE_URL"}

// databaseHost returns host and port of PostgreSQL.
func databaseHost(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(worldOf(t).infra.Ready.Env["DATABASE_URL"])
	must(t, err)
	return u.Host
}

// databaseAt returns the settings of a process that connects to PostgreSQL at a host and port.
func databaseAt(t *testing.T, host string) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for _, name := range databaseVariables {
		u, err := url.Parse(worldOf(t).infra.Ready.Env[name])
		must(t, err)
		u.Host = host
		settings[name] = u.String()
	}
	return settings
}
