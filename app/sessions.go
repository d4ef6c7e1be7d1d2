package app

import "time"

// EndReason is the reason why a session ended before it expired.
type EndReason string

const (
	EndedByLogout   EndReason = "logout"
	EndedByReuse    EndReason = "reuse"    // a superseded refresh token of one of the user's sessions was presented
	EndedByUser     EndReason = "ended"    // the user ended it from another session
	EndedByPassword EndReason = "password" // the password was changed or reset
	EndedByClaim    EndReason = "claim"    // a customer proved to own the email of an account that was never proven
	EndedByAdmin    EndReason = "admin"    // comanda admin, or the user was disabled
)

// ProofTTL is the time for which a password that a user gave in a session proves the user's identity for operations
// that could extend or keep a stolen session's reach (docs/behaviour.md#recent-proof-of-identity).
const ProofTTL = time.Hour

// ProofEnd returns the time until which a password that the user gave at proven is a recent proof.
func ProofEnd(proven time.Time) time.Time { return proven.Add(ProofTTL) }

// MaxUserAgent is the number of characters that are stored of the User-Agent header of a login.
const MaxUserAgent = 256

// LoginSession is a session that has not ended, as shown to its user.
type LoginSession struct {
	ID         SessionID `json:"id"`
	CreatedAt  Time      `json:"createdAt"`
	LastUsedAt Time      `json:"lastUsedAt"` // login or last refresh
	Address    string    `json:"address"`    // IP address of the client at login
	UserAgent  string    `json:"userAgent"`  // User-Agent header at login, at most 256 characters
	Current    bool      `json:"current"`    // whether it is the session of the request
}

// RefreshRules is the installation's configuration of refresh tokens and sessions.
type RefreshRules struct {
	TTL    time.Duration // lifetime of a refresh token
	MaxAge time.Duration // maximum age of a session, regardless of refreshes; 0 = unlimited
	Leeway time.Duration // time for which the previous refresh token still returns its successor; 0 = none
}

// End returns the time at which a session that began at began reaches its maximum age. It returns false if the age is
// unlimited.
func (r RefreshRules) End(began time.Time) (time.Time, bool) {
	return began.Add(r.MaxAge), r.MaxAge > 0
}

// TooOld reports whether a session that began at began has reached its maximum age.
func (r RefreshRules) TooOld(began, now time.Time) bool {
	end, ok := r.End(began)
	return ok && !now.Before(end)
}

// SessionState is the state of a session on which the result of a refresh depends. The current refresh token is the one
// with the session's counter.
type SessionState struct {
	Counter   int64
	RotatedAt time.Time // last increment of Counter; zero if there was none
	CreatedAt time.Time
	ExpiresAt time.Time // expiry of the current refresh token
	Ended     bool
	Barred    bool // the user is disabled, or no longer has the membership that the session requires
	Suspended bool // the website of the session's store is suspended
}

// RefreshDecision is the result of presenting a refresh token.
type RefreshDecision int

const (
	RefreshInvalid   RefreshDecision = iota // the token was never issued
	RefreshRevoked                          // the session has ended; other sessions continue
	RefreshReused                           // a superseded token: all sessions of the user must end
	RefreshRepeat                           // the previous token within the leeway: return the current token again
	RefreshRotate                           // the current token: replace it by a new one
	RefreshSuspended                        // the website is suspended; the token stays valid
)

// DecideRefresh returns the result of presenting a refresh token with the counter presented. A superseded token ends
// all sessions only if its own session is still alive. Otherwise, a token stolen once could log its owner out forever
// (docs/behaviour.md#refresh-tokens).
func DecideRefresh(s SessionState, presented int64, now time.Time, rules RefreshRules) RefreshDecision {
	inLeeway := rules.Leeway > 0 && presented == s.Counter-1 && now.Before(s.RotatedAt.Add(rules.Leeway))
	switch {
	case presented < 0 || presented > s.Counter:
		return RefreshInvalid
	case s.Ended || rules.TooOld(s.CreatedAt, now) || !now.Before(s.ExpiresAt):
		return RefreshRevoked
	case presented < s.Counter && !inLeeway:
		return RefreshReused
	case s.Barred:
		return RefreshRevoked
	case s.Suspended:
		return RefreshSuspended
	case inLeeway:
		return RefreshRepeat
	}
	return RefreshRotate
}
