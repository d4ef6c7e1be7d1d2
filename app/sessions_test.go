package app_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

var login = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestDecideRefresh(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	rotated := login.Add(day)
	session := app.SessionState{Counter: 5, RotatedAt: rotated, CreatedAt: login, ExpiresAt: rotated.Add(7 * day)}
	strict := app.RefreshRules{TTL: 7 * day, MaxAge: 30 * day}
	lenient := app.RefreshRules{TTL: 7 * day, MaxAge: 30 * day, Leeway: 2 * time.Second}
	with := func(change func(*app.SessionState)) app.SessionState {
		changed := session
		change(&changed)
		return changed
	}
	fresh := with(func(s *app.SessionState) { s.Counter, s.RotatedAt = 0, time.Time{} })
	ended := with(func(s *app.SessionState) { s.Ended = true })
	barred := with(func(s *app.SessionState) { s.Barred = true })
	suspended := with(func(s *app.SessionState) { s.Suspended = true })
	both := with(func(s *app.SessionState) { s.Barred, s.Suspended = true, true })
	unlimited := app.RefreshRules{TTL: 7 * day}
	old := with(func(s *app.SessionState) { s.ExpiresAt = login.Add(40 * day) })
	for name, c := range map[string]struct {
		session   app.SessionState
		presented int64
		after     time.Duration // since the last rotation
		rules     app.RefreshRules
		want      app.RefreshDecision
	}{
		"current token":                            {session, 5, time.Hour, strict, app.RefreshRotate},
		"first token":                              {fresh, 0, time.Hour, strict, app.RefreshRotate},
		"current token, within leeway":             {session, 5, time.Second, lenient, app.RefreshRotate},
		"current token, just before expiry":        {session, 5, 7*day - 1, strict, app.RefreshRotate},
		"current token, expired":                   {session, 5, 7 * day, strict, app.RefreshRevoked},
		"previous token":                           {session, 4, 0, strict, app.RefreshReused},
		"previous token, slower clock":             {session, 4, -time.Second, strict, app.RefreshReused},
		"previous token, within leeway":            {session, 4, 2*time.Second - 1, lenient, app.RefreshRepeat},
		"previous token, slower clock with leeway": {session, 4, -time.Second, lenient, app.RefreshRepeat},
		"previous token, after leeway":             {session, 4, 2 * time.Second, lenient, app.RefreshReused},
		"second last token, within leeway":         {session, 3, time.Second, lenient, app.RefreshReused},
		"first token, days later":                  {session, 0, 6 * day, strict, app.RefreshReused},
		"token never issued":                       {session, 6, 0, lenient, app.RefreshInvalid},
		"negative counter":                         {fresh, -1, 0, lenient, app.RefreshInvalid},
		"ended":                                    {ended, 5, 0, strict, app.RefreshRevoked},
		"ended, previous token":                    {ended, 4, 0, strict, app.RefreshRevoked},
		"ended, previous token within leeway":      {ended, 4, time.Second, lenient, app.RefreshRevoked},
		"expired, previous token":                  {session, 4, 8 * day, strict, app.RefreshRevoked},
		"barred":                                   {barred, 5, 0, strict, app.RefreshRevoked},
		"barred, previous token":                   {barred, 4, 0, strict, app.RefreshReused},
		"barred, previous token within leeway":     {barred, 4, time.Second, lenient, app.RefreshRevoked},
		"suspended":                                {suspended, 5, 0, strict, app.RefreshSuspended},
		"suspended, previous token":                {suspended, 4, 0, strict, app.RefreshReused},
		"suspended, previous token within leeway":  {suspended, 4, time.Second, lenient, app.RefreshSuspended},
		"suspended and barred":                     {both, 5, 0, strict, app.RefreshRevoked},
		"maximum age reached":                      {old, 5, 29 * day, strict, app.RefreshRevoked},
		"maximum age reached, previous token":      {old, 4, 29 * day, strict, app.RefreshRevoked},
		"just before the maximum age":              {old, 5, 29*day - 1, strict, app.RefreshRotate},
		"no maximum age":                           {old, 5, 38 * day, unlimited, app.RefreshRotate},
	} {
		t.Run(name, func(t *testing.T) {
			if got := app.DecideRefresh(c.session, c.presented, rotated.Add(c.after), c.rules); got != c.want {
				t.Errorf("%s: decision %d, want %d", name, got, c.want)
			}
		})
	}
}

// refreshMachine simulates a session: the state as persistence stores it, and a model that records every issued token
// and the time of its first use.
type refreshMachine struct {
	state app.SessionState
	rules app.RefreshRules
	now   time.Time

	issued []time.Time       // time at which each token was issued
	used   map[int]time.Time // time at which each token was replaced by its successor
	ended  bool              // by a logout or a reuse alarm
}

func (m *refreshMachine) wait(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{
		0, time.Second, 5 * time.Second, time.Minute, time.Hour,
	}).Draw(t, "wait"))
}

func (m *refreshMachine) logout(*rapid.T) { m.state.Ended, m.ended = true, true }

func (m *refreshMachine) refresh(t *rapid.T) {
	token := rapid.IntRange(0, len(m.issued)).Draw(t, "token") // the last one was never issued
	got := app.DecideRefresh(m.state, int64(token), m.now, m.rules)
	if want := m.expect(token); got != want {
		t.Fatalf("token %d of %d: %d, want %d", token, len(m.issued), got, want)
	}
	switch got {
	case app.RefreshRotate:
		m.state.Counter++
		m.state.RotatedAt, m.state.ExpiresAt = m.now, m.now.Add(m.rules.TTL)
		m.issued, m.used[token] = append(m.issued, m.now), m.now
	case app.RefreshReused:
		m.state.Ended, m.ended = true, true
	}
}

// expect returns the decision that follows from the recorded history of the tokens.
func (m *refreshMachine) expect(token int) app.RefreshDecision {
	if token == len(m.issued) {
		return app.RefreshInvalid
	}
	newest := m.issued[len(m.issued)-1]
	if m.ended || m.now.Sub(newest) >= m.rules.TTL || m.rules.MaxAge > 0 && m.now.Sub(m.issued[0]) >= m.rules.MaxAge {
		return app.RefreshRevoked
	}
	used, wasUsed := m.used[token]
	_, successorUsed := m.used[token+1]
	switch {
	case !wasUsed:
		return app.RefreshRotate
	case !successorUsed && m.now.Sub(used) < m.rules.Leeway:
		return app.RefreshRepeat
	}
	return app.RefreshReused
}

// For every sequence of refreshes, each token has exactly one successor, and no token is issued after a reuse alarm or
// a logout.
func TestDecideRefreshInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &refreshMachine{now: login, issued: []time.Time{login}, used: map[int]time.Time{}}
		m.rules = app.RefreshRules{
			TTL:    rapid.SampledFrom([]time.Duration{time.Minute, 3 * time.Hour}).Draw(t, "ttl"),
			MaxAge: rapid.SampledFrom([]time.Duration{0, 5 * time.Hour}).Draw(t, "max age"),
			Leeway: rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "leeway"),
		}
		m.state = app.SessionState{CreatedAt: login, ExpiresAt: login.Add(m.rules.TTL)}
		refresh := m.refresh // listed three times, so that most steps are refreshes
		t.Repeat(map[string]func(*rapid.T){
			"refresh": refresh, "refresh 2": refresh, "refresh 3": refresh, "wait": m.wait, "logout": m.logout,
		})
	})
}
