package boot

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// A renewed certificate is used by the next connection, without a restart. A renewal of which only one file has been
// written changes nothing.
func TestCertificateFollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	first, second := selfSigned(t, "first.example"), selfSigned(t, "second.example")
	write(t, certFile, first.cert)
	write(t, keyFile, first.key)
	c, err := newCertificate(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	address := unusedAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	if err := listen(ctx, group, "TEST", address, c, nil, nil, http.NotFoundHandler(), zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	if got := served(t, address); got != "first.example" {
		t.Errorf("at the start: certificate of %q, want first.example", got)
	}
	write(t, certFile, second.cert)
	if changed, err := c.reload(); changed || err == nil {
		t.Errorf("with the key of the former certificate: %v, %v, want an error", changed, err)
	}
	if got := served(t, address); got != "first.example" {
		t.Errorf("after half a renewal: certificate of %q, want first.example", got)
	}
	write(t, keyFile, second.key)
	group.Go(func() error { return c.watch(ctx, time.Millisecond, zerolog.Nop()) })
	for got := ""; got != "second.example"; {
		if t.Context().Err() != nil {
			t.Fatalf("after the renewal: certificate of %q, want second.example", got)
		}
		got = served(t, address)
	}
	stop()
	if err := group.Wait(); err != nil {
		t.Errorf("stop: %v, want no error", err)
	}
}

func TestCertificateMissing(t *testing.T) {
	t.Parallel()
	if _, err := newCertificate(filepath.Join(t.TempDir(), "no.crt"), "no.key"); !os.IsNotExist(err) {
		t.Errorf("without files: %v, want that a file does not exist", err)
	}
}

// served returns the name in the certificate that a new connection gets.
func served(t *testing.T, address string) string {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test compares the certificate
	connection, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
}

// selfSigned returns a new certificate for a name, and its key, as PEM.
func selfSigned(t *testing.T, name string) (pair struct{ cert, key []byte }) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pair.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	pair.key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return pair
}

func write(t *testing.T, path string, contents []byte) {
	t.Helper()
	if err := os.WriteFile(path, contents, 0o600); err != nil {
		t.Fatal(err)
	}
}
