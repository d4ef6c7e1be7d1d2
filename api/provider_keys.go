package api

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/comanda-dev/comanda/app"
)

// Bounds of what a provider's keys may cost us.
const (
	maxKeys        = 1 << 20          // bytes
	keysTimeout    = 5 * time.Second  // of one fetch
	keysCooldown   = 10 * time.Second // between fetches, however many tokens name unknown keys
	keysRetryAfter = time.Second      // between fetches that fail
	keysLifetime   = time.Hour        // after it, keys that the provider has withdrawn are forgotten
)

// keysAway says that a provider's keys cannot be had. To the client it is UNAVAILABLE; the
// cause is for the log.
type keysAway struct{ cause error }

// Error names the cause.
func (e *keysAway) Error() string { return "provider keys: " + e.cause.Error() }

// Unwrap returns what the client is told.
func (e *keysAway) Unwrap() error { return app.Unavailable(keysRetryAfter) }

// providerKeys keeps a provider's signing keys. As a transport it fetches them no oftener
// than it should and answers from memory in between.
type providerKeys struct {
	url    string
	client *http.Client // its transport is this
	base   http.RoundTripper
	now    func() time.Time

	mu    sync.Mutex
	keys  *oidc.RemoteKeySet
	since time.Time // when keys was made

	fetching  sync.Mutex
	fetchedAt time.Time
	body      []byte // of the last fetch
	err       error  // the same
}

func newProviderKeys(url string, authorities *x509.CertPool, now func() time.Time) *providerKeys {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}
	base.MaxResponseHeaderBytes = 64 << 10
	k := &providerKeys{url: url, base: base, now: now}
	k.client = &http.Client{Transport: k}
	return k
}

// current returns the keys, which fetch themselves when a token names one that they lack.
func (k *providerKeys) current() *oidc.RemoteKeySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.keys == nil || now.Sub(k.since) >= keysLifetime {
		k.keys = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), k.client), k.url)
		k.since = now
	}
	return k.keys
}

// RoundTrip answers with the keys, fetched now or a moment ago.
func (k *providerKeys) RoundTrip(r *http.Request) (*http.Response, error) {
	k.fetching.Lock()
	defer k.fetching.Unlock()
	pause := keysCooldown
	if k.err != nil {
		pause = keysRetryAfter
	}
	if now := k.now(); k.fetchedAt.IsZero() || now.Sub(k.fetchedAt) >= pause {
		k.body, k.err = k.fetch(r)
		k.fetchedAt = now
	}
	if k.err != nil {
		return nil, &keysAway{k.err}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.body)), ContentLength: int64(len(k.body)),
	}, nil
}

// fetch gets the document, which must be a set of keys; redirects are not followed.
func (k *providerKeys) fetch(r *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), keysTimeout)
	defer cancel()
	response, err := k.base.RoundTrip(r.Clone(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", k.url, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxKeys {
		return nil, fmt.Errorf("%s answers with more than %d bytes", k.url, maxKeys)
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil || len(set.Keys) == 0 {
		return nil, fmt.Errorf("%s answers with no keys", k.url)
	}
	return body, nil
}
