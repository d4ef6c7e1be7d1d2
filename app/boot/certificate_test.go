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
	l, second := listenTLS(t, "first.example"), selfSigned(t, "second.example")
	if got := served(t, l.address); got != "first.example" {
		t.Errorf("at the start: certificate of %q, want first.example", got)
	}
	write(t, l.certFile, second.cert)
	if changed, err := l.certificate.reload(); changed || err == nil {
		t.Errorf("with the key of the former certificate: %v, %v, want an error", changed, err)
	}
	if got := served(t, l.address); got != "first.example" {
		t.Errorf("after half a renewal: certificate of %q, want first.example", got)
	}
	write(t, l.keyFile, second.key)
	l.group.Go(func() error { return l.certificate.watch(l.ctx, time.Millisecond, zerolog.Nop()) })
	for got := ""; got != "second.example"; {
		if t.Context().Err() != nil {
			t.Fatalf("after the renewal: certificate of %q, want second.example", got)
		}
		got = served(t, l.address)
	}
	l.end(t)
}

func TestCertificateMissing(t *testing.T) {
	t.Parallel()
	if _, err := newCertificate(filepath.Join(t.TempDir(), "no.crt"), "no.key"); !os.IsNotExist(err) {
		t.Errorf("without files: %v, want that a file does not exist", err)
	}
}

// tlsListener is a server with a certificate from files, until end.
type tlsListener struct {
	address           string
	certFile, keyFile string
	certificate       *certificate
	group             *errgroup.Group
	ctx               context.Context
	stop              context.CancelFunc
}

// listenTLS serves no route with a self-signed certificate for a name.
func listenTLS(t *testing.T, name string) tlsListener {
	t.Helper()
	dir, pair := t.TempDir(), selfSigned(t, name)
	l := tlsListener{
		address: unusedAddress(t), certFile: filepath.Join(dir, "tls.crt"), keyFile: filepath.Join(dir, "tls.key"),
	}
	write(t, l.certFile, pair.cert)
	write(t, l.keyFile, pair.key)
	var err error
	if l.certificate, err = newCertificate(l.certFile, l.keyFile); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	l.group, l.ctx = errgroup.WithContext(ctx)
	err = listen(l.ctx, l.group, "TEST", l.address, l.certificate, nil, nil, http.NotFoundHandler(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// end stops the server, which must end without an error.
func (l tlsListener) end(t *testing.T) {
	t.Helper()
	l.stop()
	if err := l.group.Wait(); err != nil {
		t.Errorf("stop: %v, want no error", err)
	}
}

// dialTLS connects to a server, whose certificate it does not verify.
func dialTLS(t *testing.T, address string, protocols ...string) *tls.Conn {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: protocols} //nolint:gosec // self-signed
	connection, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return connection.(*tls.Conn)
}

// served returns the name in the certificate that a new connection gets.
func served(t *testing.T, address string) string {
	t.Helper()
	connection := dialTLS(t, address)
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0].Subject.CommonName
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
