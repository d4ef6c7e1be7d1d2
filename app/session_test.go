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
	old := with(func(s *app.SessionState) { s.ExpiresAt = login.Add(40 * day) })
	for name, c := range map[string]struct {
		session   app.SessionState
		presented int64
		after     time.Duration // since the last rotation
		rules     app.RefreshRules
		want      app.RefreshDecision
	}{
		"the newest":                           {session, 5, time.Hour, strict, app.RefreshRotate},
		"the first":                            {fresh, 0, time.Hour, strict, app.RefreshRotate},
		"the newest, in the leeway":            {session, 5, time.Second, lenient, app.RefreshRotate},
		"the newest, in its last moment":       {session, 5, 7*day - 1, strict, app.RefreshRotate},
		"the newest, expired":                  {session, 5, 7 * day, strict, app.RefreshRevoked},
		"the one before":                       {session, 4, 0, strict, app.RefreshReused},
		"the one before, by a slower clock":    {session, 4, -time.Second, strict, app.RefreshReused},
		"the one before, in the leeway":        {session, 4, 2*time.Second - 1, lenient, app.RefreshRepeat},
		"the same by a slower clock":           {session, 4, -time.Second, lenient, app.RefreshRepeat},
		"the one before, after the leeway":     {session, 4, 2 * time.Second, lenient, app.RefreshReused},
		"two before, in the leeway":            {session, 3, time.Second, lenient, app.RefreshReused},
		"the very first, much later":           {session, 0, 6 * day, strict, app.RefreshReused},
		"one never made":                       {session, 6, 0, lenient, app.RefreshInvalid},
		"less than none":                       {fresh, -1, 0, lenient, app.RefreshInvalid},
		"ended":                                {ended, 5, 0, strict, app.RefreshRevoked},
		"ended, the one before":                {ended, 4, 0, strict, app.RefreshRevoked},
		"ended, the one before, in the leeway": {ended, 4, time.Second, lenient, app.RefreshRevoked},
		"expired, the one before":              {session, 4, 8 * day, strict, app.RefreshRevoked},
		"barred":                               {barred, 5, 0, strict, app.RefreshRevoked},
		"barred, the one before":               {barred, 4, 0, strict, app.RefreshReused},
		"barred, in the leeway":                {barred, 4, time.Second, lenient, app.RefreshRevoked},
		"too old":                              {old, 5, 29 * day, strict, app.RefreshRevoked},
		"too old, the one before":              {old, 4, 29 * day, strict, app.RefreshRevoked},
		"almost too old":                       {old, 5, 29*day - 1, strict, app.RefreshRotate},
		"never too old":                        {old, 5, 38 * day, app.RefreshRules{TTL: 7 * day}, app.RefreshRotate},
	} {
		if got := app.DecideRefresh(c.session, c.presented, rotated.Add(c.after), c.rules); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// refreshMachine lives a session's life: the state as persistence would keep it, beside a
// model that knows every token that was given out and which of them was used, and when.
type refreshMachine struct {
	state app.SessionState
	rules app.RefreshRules
	now   time.Time

	given []time.Time       // when each token was given out
	used  map[int]time.Time // when each was first good for a successor
	over  bool              // by logout or alarm
}

func (m *refreshMachine) wait(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, time.Minute, time.Hour}).Draw(t, "wait"))
}

func (m *refreshMachine) logout(*rapid.T) { m.state.Ended, m.over = true, true }

func (m *refreshMachine) refresh(t *rapid.T) {
	token := rapid.IntRange(0, len(m.given)).Draw(t, "token") // one more than there are
	got := app.DecideRefresh(m.state, int64(token), m.now, m.rules)
	if want := m.expect(token); got != want {
		t.Fatalf("token %d of %d: %d, want %d", token, len(m.given), got, want)
	}
	switch got {
	case app.RefreshRotate:
		m.state.Counter++
		m.state.RotatedAt, m.state.ExpiresAt = m.now, m.now.Add(m.rules.TTL)
		m.given, m.used[token] = append(m.given, m.now), m.now
	case app.RefreshReused:
		m.state.Ended, m.over = true, true
	}
}

// expect tells from the tokens' own histories what one of them is good for.
func (m *refreshMachine) expect(token int) app.RefreshDecision {
	if token == len(m.given) {
		return app.RefreshInvalid
	}
	newest := m.given[len(m.given)-1]
	if m.over || m.now.Sub(newest) >= m.rules.TTL || m.rules.MaxAge > 0 && m.now.Sub(m.given[0]) >= m.rules.MaxAge {
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

// TestRefreshes: however a session is used, each token has one successor, and after an
// alarm or a logout nothing is given out any more.
func TestRefreshes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &refreshMachine{now: login, given: []time.Time{login}, used: map[int]time.Time{}}
		m.rules = app.RefreshRules{
			TTL:    rapid.SampledFrom([]time.Duration{time.Minute, 3 * time.Hour}).Draw(t, "ttl"),
			MaxAge: rapid.SampledFrom([]time.Duration{0, 5 * time.Hour}).Draw(t, "max age"),
			Leeway: rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "leeway"),
		}
		m.state = app.SessionState{CreatedAt: login, ExpiresAt: login.Add(m.rules.TTL)}
		refresh := m.refresh // often: most of a session's life
		t.Repeat(map[string]func(*rapid.T){"refresh": refresh, "refresh again": refresh, "and again": refresh, "wait": m.wait, "logout": m.logout})
	})
}
