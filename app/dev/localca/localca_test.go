package localca

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// open opens the directory at a time, checks that a client which trusts the authority accepts the certificate for
// every name of this machine, and returns both files' contents.
func open(t *testing.T, dir string, now time.Time) (ca, cert string) {
	t.Helper()
	files, err := Open(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(read(t, files.CA))) {
		t.Fatal("no authority")
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return read(t, files.CA), read(t, files.Cert)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	dir, start := t.TempDir(), time.Now()
	ca, cert := open(t, dir, start)
	for _, step := range []struct {
		after          time.Duration
		newCA, newCert bool
	}{
		{0, false, false},
		{334 * day, false, false}, // 31 days left
		{336 * day, false, true},  // 29 days left
		{337 * day, false, false},
		{(3650 - 366) * day, false, true},
		{(3650 - 364) * day, true, true}, // the authority would end before its next certificate
	} {
		nextCA, nextCert := open(t, dir, start.Add(step.after))
		if (nextCA != ca) != step.newCA || (nextCert != cert) != step.newCert {
			t.Errorf("after %v: new authority %t, want %t; new certificate %t, want %t",
				step.after, nextCA != ca, step.newCA, nextCert != cert, step.newCert)
		}
		ca, cert = nextCA, nextCert
	}
}

func TestMissingFilesAreCreated(t *testing.T) {
	t.Parallel()
	for file, newCA := range map[string]bool{"ca.pem": true, "ca.key": true, "tls.crt": false, "tls.key": false} {
		dir, now := t.TempDir(), time.Now()
		ca, cert := open(t, dir, now)
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		nextCA, nextCert := open(t, dir, now)
		if nextCert == cert || (nextCA != ca) != newCA {
			t.Errorf("without %s: new authority %t, want %t; new certificate %t, want true",
				file, nextCA != ca, newCA, nextCert != cert)
		}
	}
}

func TestKeysArePrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir, time.Now())
	for _, file := range []string{"ca.key", "tls.key"} {
		info, err := os.Stat(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
}

func TestBrokenAuthorityIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir, time.Now())
	if err := os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, time.Now()); err == nil {
		t.Error("an authority that a client may trust was replaced without an error")
	}
}

func TestAuthorityIsLimitedToThisMachine(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	open(t, dir, now)
	ca, err := tls.LoadX509KeyPair(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	template := leafTemplate(now)
	template.DNSNames = []string{"example.com"}
	cert, key := filepath.Join(dir, "other.crt"), filepath.Join(dir, "other.key")
	if err := issue(cert, key, template, ca.Leaf, ca.PrivateKey); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	options := x509.VerifyOptions{Roots: roots, DNSName: "example.com", CurrentTime: now}
	if _, err := pair.Leaf.Verify(options); err == nil {
		t.Error("a certificate for example.com is accepted")
	}
}
