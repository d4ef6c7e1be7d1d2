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

// Limits of fetching a provider's keys.
const (
	maxKeys        = 1 << 20          // bytes
	keysTimeout    = 5 * time.Second  // of one fetch
	keysCooldown   = 10 * time.Second // between fetches for tokens with unknown keys
	keysRetryAfter = time.Second      // between failed fetches
	keysLifetime   = time.Hour        // after it, keys that the provider has withdrawn are no longer accepted
)

// keysUnavailable is the error of a failed fetch of a provider's keys. The client gets UNAVAILABLE; the log has the
// cause.
type keysUnavailable struct{ cause error }

// Error returns the cause.
func (e *keysUnavailable) Error() string { return "provider keys: " + e.cause.Error() }

// Unwrap returns the error for the client.
func (e *keysUnavailable) Unwrap() error { return app.Unavailable(keysRetryAfter) }

// providerKeys caches a provider's signing keys. It is the transport of the client that it uses, limits the rate of
// fetches, and otherwise responds from the cache.
type providerKeys struct {
	url    string
	client *http.Client // its transport is the providerKeys itself
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

// current returns the key set, which fetches the keys again for a token with an unknown key.
func (k *providerKeys) current() *oidc.RemoteKeySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.now(); k.keys == nil || now.Sub(k.since) >= keysLifetime {
		k.keys = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), k.client), k.url)
		k.since = now
	}
	return k.keys
}

// RoundTrip returns the keys, from the provider or from the cache.
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
		return nil, &keysUnavailable{k.err}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.body)),
		ContentLength: int64(len(k.body)),
	}, nil
}

// fetch fetches the key set. It does not follow redirects.
func (k *providerKeys) fetch(r *http.Request) ([]byte, error) {
	ctx, cancel := context.WithTimeout(r.Context(), keysTimeout)
	defer cancel()
	response, err := k.base.RoundTrip(r.Clone(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s responds with %s", k.url, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeys+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxKeys {
		return nil, fmt.Errorf("%s responds with more than %d bytes", k.url, maxKeys)
	}
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil || len(set.Keys) == 0 {
		return nil, fmt.Errorf("%s responds without keys", k.url)
	}
	return body, nil
}
