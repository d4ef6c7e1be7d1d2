package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"github.com/comanda-dev/comanda/app"
)

// claims are the claims of an access token (docs/behaviour.md#tokens).
type claims struct {
	Subject   string        `json:"sub"` // a UserID, in the customer realm a CustomerID
	Email     string        `json:"email"`
	StoreID   app.StoreID   `json:"storeId,omitempty"` // not in the platform realm
	Role      app.Role      `json:"role,omitempty"`    // in the tenant realm, for the client; the database's applies
	Audience  app.Realm     `json:"aud"`
	Issuer    string        `json:"iss"`
	SessionID app.SessionID `json:"sid"`
	IssuedAt  int64         `json:"iat"` // Unix seconds
	ExpiresAt int64         `json:"exp"` // Unix seconds
}

// plainClaims is claims without methods.
type plainClaims claims

// UnmarshalJSON matches names exactly and rejects duplicate claims, unlike encoding/json.
func (c *claims) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, (*plainClaims)(c)) }

// The methods of jwt.Claims, which are not used: tokens.sound checks the claims.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return nil, errors.ErrUnsupported }
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error)       { return nil, errors.ErrUnsupported }
func (c *claims) GetNotBefore() (*jwt.NumericDate, error)      { return nil, errors.ErrUnsupported }
func (c *claims) GetIssuer() (string, error)                   { return "", errors.ErrUnsupported }
func (c *claims) GetSubject() (string, error)                  { return "", errors.ErrUnsupported }
func (c *claims) GetAudience() (jwt.ClaimStrings, error)       { return nil, errors.ErrUnsupported }

const (
	// maxToken is the limit of a token, in bytes. Issued tokens have about 600.
	maxToken = 4096
	// clockSkew is the tolerated difference between the clocks of replicas.
	clockSkew = 5 * time.Second
)

// tokens issues and parses access tokens and refresh tokens. Each realm has its own keys.
type tokens struct {
	access     map[app.Realm][]app.DerivedKey
	refresh    map[app.Realm][]app.DerivedKey
	parser     *jwt.Parser
	issuer     string
	accessTTL  time.Duration
	refreshTTL time.Duration
}

func newTokens(c Config) tokens {
	return tokens{
		access: map[app.Realm][]app.DerivedKey{
			app.RealmTenant:   c.Keyring.Derive("tenant access token"),
			app.RealmPlatform: c.Keyring.Derive("platform access token"),
			app.RealmCustomer: c.Keyring.Derive("customer access token"),
		},
		refresh: map[app.Realm][]app.DerivedKey{
			app.RealmTenant:   c.Keyring.Derive("tenant refresh token"),
			app.RealmPlatform: c.Keyring.Derive("platform refresh token"),
			app.RealmCustomer: c.Keyring.Derive("customer refresh token"),
		},
		parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithStrictDecoding(),
			jwt.WithoutClaimsValidation()),
		issuer: c.Issuer, accessTTL: c.AccessTTL, refreshTTL: c.RefreshTTL,
	}
}

// mint signs an access token and sets its issuer and times. A given ExpiresAt can only shorten its lifetime.
func (t tokens) mint(now time.Time, c claims) (string, error) {
	c.Issuer, c.IssuedAt = t.issuer, now.Unix()
	if end := c.IssuedAt + int64(t.accessTTL/time.Second); c.ExpiresAt == 0 || c.ExpiresAt > end {
		c.ExpiresAt = end
	}
	key := t.access[c.Audience][0]
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, &c)
	token.Header["kid"] = key.ID
	return token.SignedString(key.Bytes)
}

// parse returns the claims of a valid token of one of the realms. It returns TOKEN_EXPIRED if the token is
// expired but otherwise valid, TOKEN_INVALID for other errors.
func (t tokens) parse(now time.Time, raw string, realms []app.Realm) (claims, error) {
	var c claims
	if len(raw) > maxToken || strings.ContainsAny(raw, "\r\n") { // base64 ignores these
		return c, app.TokenInvalid()
	}
	_, err := t.parser.ParseWithClaims(raw, &c, func(token *jwt.Token) (any, error) { return t.key(token, c.Audience) })
	if err != nil || !slices.Contains(realms, c.Audience) || !t.sound(now, c) {
		return c, app.TokenInvalid()
	}
	if now.Unix() >= c.ExpiresAt {
		refresh := "/auth/refresh"
		if c.Audience == app.RealmCustomer {
			refresh = "/customer-auth/refresh"
		}
		return c, app.Errorf(app.CodeTokenExpired, "the access token has expired; use POST %s", refresh)
	}
	return c, nil
}

// key returns the key that the header of a token names. It refuses other header members than those of issued
// tokens, in particular "crit".
func (t tokens) key(token *jwt.Token, realm app.Realm) (any, error) {
	for name, value := range token.Header {
		if name != "alg" && name != "kid" && (name != "typ" || value != "JWT") {
			return nil, errors.New("unknown header")
		}
	}
	for _, key := range t.access[realm] {
		if key.ID == token.Header["kid"] {
			return key.Bytes, nil
		}
	}
	return nil, errors.New("unknown key")
}

// sound reports whether the claims of a signed token are complete and consistent. It does not check expiry.
func (t tokens) sound(now time.Time, c claims) bool {
	lifetime := c.ExpiresAt - c.IssuedAt
	return c.Issuer == t.issuer && c.Subject != "" && c.SessionID != "" &&
		(c.StoreID != "") == (c.Audience != app.RealmPlatform) && (c.Role == "" || c.Audience == app.RealmTenant) &&
		c.IssuedAt > 0 && c.IssuedAt <= now.Add(clockSkew).Unix() &&
		lifetime >= 0 && lifetime <= int64(t.accessTTL/time.Second)
}

// mintRefresh issues a refresh token: session id, counter and a MAC of both. The database stores the
// counter, not the token.
func (t tokens) mintRefresh(realm app.Realm, session app.SessionID, counter int64) string {
	return signRefresh(t.refresh[realm][0], session, counter)
}

func signRefresh(key app.DerivedKey, session app.SessionID, counter int64) string {
	token := string(session) + "." + strconv.FormatInt(counter, 10)
	mac := hmac.New(sha256.New, key.Bytes)
	mac.Write([]byte(token))
	return token + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// refreshToken is the content of a refresh token.
type refreshToken struct {
	realm   app.Realm
	session app.SessionID
	counter int64
}

// parseRefresh parses a refresh token of one of the realms. It returns TOKEN_INVALID unless the token equals
// one that a key of the ring issues.
func (t tokens) parseRefresh(raw string, realms []app.Realm) (refreshToken, error) {
	parts := strings.SplitN(raw, ".", 3)
	if len(raw) > maxToken || len(parts) != 3 {
		return refreshToken{}, refreshInvalid()
	}
	counter, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return refreshToken{}, refreshInvalid()
	}
	session := app.SessionID(parts[0])
	for _, realm := range realms {
		for _, key := range t.refresh[realm] {
			if hmac.Equal([]byte(raw), []byte(signRefresh(key, session, counter))) {
				return refreshToken{realm, session, counter}, nil
			}
		}
	}
	return refreshToken{}, refreshInvalid()
}

func refreshInvalid() error {
	return app.Errorf(app.CodeTokenInvalid, "the refresh token is missing or not valid; log in again")
}
