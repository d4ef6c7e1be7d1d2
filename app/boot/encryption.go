package boot

import (
	"errors"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"

	"github.com/comanda-dev/comanda/app"
)

// Warnings about connections, in the log of a starting process.
const (
	unencrypted = "the connection is not encrypted"
	unverified  = "the connection is encrypted, but the server's certificate is not verified"
)

// errUndecided means that the server decides whether connections are encrypted, or an attacker in its place.
var errUndecided = errors.New("connections to another host would be encrypted only if the server offers it; " +
	"add sslmode=verify-full, and sslrootcert for a private authority, or sslmode=disable in a network that you trust")

// checkDecided returns an error if a URL, unless it is empty, does not decide whether connections are encrypted.
func checkDecided(url string) error {
	if url == "" {
		return nil
	}
	_, err := encryptionOf(url)
	return err
}

// encryptionOf returns the warning about connections to PostgreSQL with a URL, "" if they are encrypted and the server
// is verified, or stay on this host. It returns errUndecided if sslmode is allow, prefer or not set.
func encryptionOf(url string) (warning string, err error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return "", err
	}
	// Connections are attempted to each host in each way that sslmode permits.
	attempts := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	plain, checked, unchecked := false, false, false
	for _, attempt := range attempts {
		switch way := attempt.TLSConfig; {
		case isLocal(attempt.Host):
		case way == nil:
			plain = true
		case way.InsecureSkipVerify && way.VerifyPeerCertificate == nil: // verify-ca has the function
			unchecked = true
		default:
			checked = true
		}
	}
	switch {
	case plain && (checked || unchecked):
		return "", errUndecided
	case plain:
		return unencrypted, nil
	case unchecked:
		return unverified, nil
	}
	return "", nil
}

// isLocal reports whether host is a directory of sockets or an address of this host.
func isLocal(host string) bool {
	return strings.HasPrefix(host, "/") || host == "localhost" || net.ParseIP(host).IsLoopback()
}

// warnOfConnections logs the connections that are not encrypted, or whose servers are not verified.
func (c *Config) warnOfConnections(log zerolog.Logger) {
	warn := func(variable, warning string) {
		if warning != "" {
			log.Warn().Str("variable", variable).Msg(warning)
		}
	}
	for variable, url := range map[string]app.Secret{
		"DATABASE_URL": c.DatabaseURL, "COMANDA_SYSTEM_DATABASE_URL": c.SystemDatabaseURL,
	} {
		if url.Len() > 0 {
			warning, _ := encryptionOf(url.Reveal()) // Load has returned its error
			warn(variable, warning)
		}
	}
	warn("TEMPORAL_ADDRESS", temporalEncryption(c.temporal))
}

// temporalEncryption is encryptionOf for the connection to Temporal.
func temporalEncryption(options client.Options) string {
	address := options.HostPort
	if address == "" {
		address = client.DefaultHostPort
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(address, "passthrough:///"))
	switch tls := options.ConnectionOptions.TLS; {
	case err == nil && isLocal(host):
		return ""
	case tls == nil:
		return unencrypted
	case tls.InsecureSkipVerify:
		return unverified
	}
	return ""
}
