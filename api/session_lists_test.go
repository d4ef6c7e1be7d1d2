package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// sessions returns the sessions that an access token shows.
func (a account) sessions(token string) (listed []app.LoginSession) {
	a.w.Helper()
	a.w.do("GET", a.paths+"/sessions", token, nil).ok(200, &listed)
	return listed
}

func TestSessionLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, a := range w.accounts() {
		t.Run(name, func(t *testing.T) {
			agent := "Browser/1.0 \x00\xff" + strings.Repeat("ö", 300)
			var first struct{ AccessToken string }
			w.now = noon
			w.do("POST", a.paths+"/login", "", a.login, from("203.0.113.7"), header("User-Agent", agent)).
				ok(200, &first)
			w.now = noon.Add(time.Minute)
			second := a.logIn(password)
			listed := a.sessions(second)
			if len(listed) != 2 {
				t.Fatalf("got %d sessions, want 2", len(listed))
			}
			if got := listed[0]; !got.Current || got.CreatedAt != app.At(w.now) || got.LastUsedAt != got.CreatedAt {
				t.Errorf("first session: got %+v, want the current one, created and used at %v", got, w.now)
			}
			got, stored := listed[1], "Browser/1.0 "+strings.Repeat("ö", 244)
			if got.Current || got.Address != "203.0.113.7" || got.UserAgent != stored ||
				string(got.ID) != sessionNamed(first.AccessToken) {
				t.Errorf("other session: got %+v, want the user agent %s", got, stored)
			}
			path := a.paths + "/sessions/" + string(got.ID)
			w.do("DELETE", path, second, nil).ok(204, nil)
			w.do("DELETE", path, second, nil).refused(app.CodeNotFound)
			a.alive(first.AccessToken).refused(app.CodeTokenRevoked)
			w.do("GET", a.paths+"/sessions", first.AccessToken, nil).refused(app.CodeTokenRevoked)
			third, fourth := a.logIn(password), a.logIn(password)
			w.do("DELETE", a.paths+"/sessions", third, nil).ok(204, nil)
			w.do("DELETE", a.paths+"/sessions", third, nil).ok(204, nil) // nothing to end
			for _, ended := range []string{second, fourth} {
				a.alive(ended).refused(app.CodeTokenRevoked)
			}
			if listed := a.sessions(third); len(listed) != 1 || !listed[0].Current {
				t.Errorf("sessions after the end of all others: got %+v, want the current one", listed)
			}
			w.do("DELETE", a.paths+"/sessions/"+sessionNamed(third), third, nil).ok(204, nil)
			a.alive(third).refused(app.CodeTokenRevoked)

			// A session that can no longer be refreshed is not listed.
			a.logIn(password)
			w.now = w.now.Add(169 * time.Hour)
			if listed := a.sessions(a.logIn(password)); len(listed) != 1 {
				t.Errorf("sessions after a week: got %+v, want the current one", listed)
			}
		})
	}
}

func TestSessionListsArePaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.accounts()["user"]
	var token string
	for range 3 {
		w.now = w.now.Add(100 * time.Microsecond) // positions have milliseconds
		token = a.logIn(password)
	}
	var page []app.LoginSession
	seen := map[app.SessionID]bool{}
	for cursor, more := "", true; more; {
		response := w.do("GET", "/auth/sessions?limit=1"+cursor, token, nil).ok(200, &page)
		for _, session := range page {
			seen[session.ID] = true
		}
		var next string
		next, more = response.body.Meta["nextCursor"].(string)
		cursor = "&cursor=" + next
	}
	if len(seen) != 3 {
		t.Errorf("pages of one session: got %v, want 3 sessions", seen)
	}
}

// The response about a session of another user is that about an unknown id, with the same bytes.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.accounts()
	for name, a := range accounts {
		token := a.session()
		for other, b := range accounts {
			if other == name {
				continue
			}
			theirs := b.session()
			end := func(session string) *response {
				response := w.do("DELETE", a.paths+"/sessions/"+session, token, nil)
				response.what += " by the " + name
				return response.refused(app.CodeNotFound)
			}
			if end(sessionNamed(theirs)).same() != end("ses_none").same() {
				t.Errorf("%s about the session of the %s: got another response than about an unknown one, want the same", name,
					other)
			}
			b.alive(theirs).ok(http.StatusOK, nil)
		}
	}
	for _, id := range []string{"%27%20or%201=1", strings.Repeat("a", 65), "a%2Fb", "...", "%00"} {
		w.do("DELETE", "/auth/sessions/"+id, accounts["user"].session(), nil).refused(app.CodeNotFound)
	}
	stranger := w.tokens["OWNER"]
	ada := accounts["user"].session()
	w.do("DELETE", "/auth/sessions/"+sessionNamed(ada), stranger, nil).refused(app.CodeNotFound)
	w.do("DELETE", "/auth/sessions", stranger, nil).ok(204, nil)
	accounts["user"].alive(ada).ok(200, nil)
}

// Lists and ends of sessions, and changes of the password, share the session's budget with refresh.
func TestSessionOperationsShareTheBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.accounts()
	s := w.strict()
	for name, a := range accounts {
		token := a.session()
		requests := []func() *response{
			func() *response { return w.doOn(s, "GET", a.paths+"/sessions", token, nil) },
			func() *response { return w.doOn(s, "DELETE", a.paths+"/sessions", token, nil) },
			func() *response { return w.doOn(s, "DELETE", a.paths+"/sessions/ses_none", token, nil) },
			func() *response { return w.doOn(s, "POST", a.paths+"/password", token, object{}) },
			func() *response { return w.doOn(s, "POST", a.paths+"/logout", token, object{"x": 1}) },
		}
		for i := range 10 {
			if response := requests[i%len(requests)](); response.Code == http.StatusTooManyRequests {
				t.Errorf("request %d of the %s: got 429, want another status", i, name)
			}
		}
		for _, request := range requests {
			request().refused(app.CodeRateLimited)
		}
	}
}
