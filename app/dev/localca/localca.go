// Package localca keeps a certificate authority for one machine, and the certificate that its servers on localhost
// show. Clients that are told to trust the authority verify them like any other.
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
	// renewal is how much of its life a certificate must have left to be used for another run.
	renewal = 30 * 24 * time.Hour
)

// Files are the PEM files of a directory, by absolute path.
type Files struct {
	CA   string // what clients trust
	Cert string // what servers show
	Key  string // the servers' private key
}

// Open makes what the directory lacks: the authority on the first run, the certificate also when less than thirty days
// of it are left.
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

// authority loads the authority, or makes one where there is none or it is about to end.
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

// serves tells whether the servers' certificate is there, of this authority and good for another while.
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

// authorityTemplate describes an authority that can vouch for this machine only, so that trusting it risks nothing.
func authorityTemplate(now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:                     pkix.Name{Organization: []string{"Comanda development"}, CommonName: "Comanda local CA"},
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

// leafTemplate describes the servers' certificate.
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

// issue writes a new key and a certificate for it, signed by the parent or, without one, by itself. The certificate is
// written last: one without its key is never found.
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

// writePEM replaces a file in one step.
func writePEM(path string, mode fs.FileMode, kind string, content []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	if err := os.WriteFile(path+".new", text, mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
