package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app/webhook"
)

// hookPort is the port of the receiver.
const hookPort = 9443

// ledger records the arrivals of events. It is safe for concurrent use.
type ledger struct {
	lock     sync.Mutex
	arrivals []arrival
}

// add records an arrival.
func (l *ledger) add(a arrival) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.arrivals = append(l.arrivals, a)
}

// all returns the arrivals so far.
func (l *ledger) all() []arrival {
	l.lock.Lock()
	defer l.lock.Unlock()
	return slices.Clone(l.arrivals)
}

// missing returns the number of orders whose event has not arrived.
func (l *ledger) missing(orders []placed) (n int) {
	arrived := map[string]bool{}
	for _, a := range l.all() {
		arrived[a.order] = true
	}
	for _, p := range orders {
		if !arrived[p.order] {
			n++
		}
	}
	return n
}

// serve serves the receiver until ctx is done. It verifies each request.
func (l *ledger) serve(ctx context.Context, listener net.Listener, pair tls.Certificate, secret string) error {
	verifier, err := webhook.New(secret)
	if err != nil {
		return err
	}
	handler := verifier.Handler(func(_ context.Context, event webhook.Event) error {
		var order struct{ ID string }
		if err := json.Unmarshal(event.Data, &order); err != nil {
			return err
		}
		l.add(arrival{event.ID, order.ID, time.Now()})
		return nil
	})
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go server.ServeTLS(listener, "", "") //nolint:errcheck // ends with Close
	return nil
}

// certify creates a certificate for the address of the receiver. It writes it to a file, for workers to trust.
func certify(dir string, now time.Time) (pair tls.Certificate, file string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.ParseIP(addresses[outside])}, BasicConstraintsValid: true, IsCA: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return pair, "", err
	}
	file = filepath.Join(dir, "receiver.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encoded})
	return tls.Certificate{Certificate: [][]byte{encoded}, PrivateKey: key}, file, os.WriteFile(file, text, 0o644)
}
