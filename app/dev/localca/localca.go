// Package localca manages a certificate authority for one machine, and the certificate of its servers on localhost.
// Clients that trust the authority verify these servers like any other.
package localca

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	leafLife      = 365 * 24 * time.Hour
	// renewal is the remaining validity below which a certificate is renewed.
	renewal = 30 * 24 * time.Hour
)

// Files are the absolute paths of PEM files.
type Files struct {
	CA   string // certificate of the authority, which clients trust
	Cert string // certificate of the servers
	Key  string // private key of the servers
}

// Open returns the files of a directory. It creates missing ones, and renews a certificate that expires within thirty
// days.
func Open(dir string, now time.Time) (Files, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Files{}, err
	}
	files := Files{
		CA:   filepath.Join(dir, "ca.pem"),
		Cert: filepath.Join(dir, "tls.crt"),
		Key:  filepath.Join(dir, "tls.key"),
	}
	ca, err := authority(files.CA, filepath.Join(dir, "ca.key"), now)
	if err != nil {
		return Files{}, fmt.Errorf("certificate authority: %w", err)
	}
	if serves(files, ca.Leaf, now) {
		return files, nil
	}
	if err := issue(files.Cert, files.Key, leafTemplate(now), ca.Leaf, ca.PrivateKey); err != nil {
		return Files{}, fmt.Errorf("certificate: %w", err)
	}
	return files, nil
}

// authority loads the authority. It creates a new one if none exists, or if the old one expires before the next
// certificate would.
func authority(certFile, keyFile string, now time.Time) (tls.Certificate, error) {
	ca, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err == nil && now.Add(leafLife).Before(ca.Leaf.NotAfter) {
		return ca, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, fmt.Errorf("%s: %w", certFile, err)
	}
	if err := issue(certFile, keyFile, authorityTemplate(now), nil, nil); err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(certFile, keyFile)
}

// serves reports whether the certificate of the servers exists, was signed by this authority, and needs no renewal.
func serves(files Files, ca *x509.Certificate, now time.Time) bool {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "localhost", CurrentTime: now.Add(renewal)})
	return err == nil
}

// authorityTemplate describes an authority that can only sign certificates for this machine. Trusting it is therefore
// safe.
func authorityTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{
			Organization: []string{"Comanda development"}, CommonName: "Comanda local CA",
		},
		NotBefore:                   now.Add(-time.Hour),
		NotAfter:                    now.Add(authorityLife),
		KeyUsage:                    x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid:       true,
		IsCA:                        true,
		MaxPathLenZero:              true,
		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         []string{"localhost"},
		PermittedIPRanges: []*net.IPNet{
			{IP: net.IPv4(127, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)},
			{IP: net.IPv6loopback, Mask: net.CIDRMask(128, 128)},
		},
	}
}

// leafTemplate describes the certificate of the servers.
func leafTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"Comanda development"}, CommonName: "localhost"},
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(leafLife),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
}

// issue writes a new key and its certificate, which is signed by the parent, or self-signed if parent is nil. It writes
// the certificate last, so that a certificate always has its key.
func issue(certFile, keyFile string, template, parent *x509.Certificate, parentKey crypto.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.Remove(certFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(
		writePEM(keyFile, 0o600, "PRIVATE KEY", encoded),
		writePEM(certFile, 0o644, "CERTIFICATE", cert),
	)
}

// writePEM replaces a file atomically.
func writePEM(path string, mode fs.FileMode, kind string, content []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := os.WriteFile(path+".new", text, mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
