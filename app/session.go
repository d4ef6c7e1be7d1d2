package app

import "time"

// EndReason says why a session was ended before its time.
type EndReason string

const (
	EndedByLogout EndReason = "logout"
	EndedByReuse  EndReason = "reuse" // a superseded refresh token of this or another session of the user came back
)

// RefreshRules is what an installation decides about refresh tokens.
type RefreshRules struct {
	TTL    time.Duration // of a refresh token
	MaxAge time.Duration // of a session, whatever its refreshes; 0 = for ever
	Leeway time.Duration // for which the token before the newest still has its successor; 0 = none
}

// End returns when a session that began then is over, whatever its refreshes. It is false
// when sessions have no greatest age.
func (r RefreshRules) End(began time.Time) (time.Time, bool) {
	return began.Add(r.MaxAge), r.MaxAge > 0
}

// TooOld reports whether a session that began then has reached its greatest age.
func (r RefreshRules) TooOld(began, now time.Time) bool {
	end, ok := r.End(began)
	return ok && !now.Before(end)
}

// SessionState is what a session's refresh is decided by. The session has one good refresh
// token: the one with its counter.
type SessionState struct {
	Counter   int64
	RotatedAt time.Time // when Counter last went up; zero when it never did
	CreatedAt time.Time
	ExpiresAt time.Time // of the newest refresh token
	Ended     bool
	Barred    bool // the user is disabled, or has lost the store or the standing that the session is for
}

// RefreshDecision is what a presented refresh token leads to.
type RefreshDecision int

const (
	RefreshInvalid RefreshDecision = iota // no such token was ever made
	RefreshRevoked                        // the session is over; nothing else ends
	RefreshReused                         // somebody has a copy of a token: all sessions of the user end
	RefreshRepeat                         // the newest token once more, for who asked twice at once
	RefreshRotate                         // a new token takes the place of this one
)

// DecideRefresh says what a refresh token with the presented counter leads to. Only a
// living session raises the alarm: who once stole a token of a session that has ended
// could log its owner out for ever otherwise (contract §0, 8).
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
	case inLeeway:
		return RefreshRepeat
	}
	return RefreshRotate
}
