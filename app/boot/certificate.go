package boot

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// reloadEvery is the time between two checks whether the files of the certificate have changed.
const reloadEvery = 30 * time.Second

// certificate is the API's certificate. It is read again when its files change, so that a renewed
// certificate needs no restart.
type certificate struct {
	certFile, keyFile string
	current           atomic.Pointer[keyPair]
}

// keyPair is a certificate with the contents of the files that it was read from.
type keyPair struct {
	certificate tls.Certificate
	cert, key   []byte
}

// newCertificate reads a certificate and its key. It returns an error if they are missing or do not match.
func newCertificate(certFile, keyFile string) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile}
	_, err := c.reload()
	return c, err
}

// get returns the current certificate, as tls.Config.GetCertificate requires.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return &c.current.Load().certificate, nil
}

// reload reads the files again and reports whether the certificate has changed. After an error, the current one stays:
// a renewal writes two files one after the other.
func (c *certificate) reload() (bool, error) {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return false, err
	}
	current := c.current.Load()
	if current != nil && bytes.Equal(current.cert, cert) && bytes.Equal(current.key, key) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	c.current.Store(&keyPair{certificate: pair, cert: cert, key: key})
	return true, nil
}

// watch reloads the certificate whenever its files have changed, until ctx is done. It logs each failure once.
func (c *certificate) watch(ctx context.Context, every time.Duration, log zerolog.Logger) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		changed, err := c.reload()
		switch {
		case err != nil && err.Error() != failed:
			log.Error().Err(err).Msg("cannot reload the certificate; the former one stays in use")
		case changed:
			log.Info().Time("expires", c.current.Load().certificate.Leaf.NotAfter).Msg("certificate reloaded")
		}
		if failed = ""; err != nil {
			failed = err.Error()
		}
	}
}
