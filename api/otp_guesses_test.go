package api

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/otp"
)

// After 20 wrong or used codes in an hour, from any address, no code is accepted.
func TestGuessesOfOTPsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	accounts := w.otpAccounts()
	other := accounts["platform administrator"].enroll()
	u := accounts["user"].enroll()
	guess := func(i int, code string) *response {
		t.Helper()
		return w.do("POST", "/auth/login", "", altered(u.login, object{"otp": code}),
			from(fmt.Sprintf("203.0.113.%d", i)))
	}
	for i := range 19 {
		guess(i, u.wrong()).refused(app.CodeInvalidCredentials)
	}
	guess(19, w.code(u.secret, 0)).refused(app.CodeInvalidCredentials) // used by the setup
	a := guess(20, w.code(u.secret, 1)).refused(app.CodeRateLimited)
	if seconds := a.Header().Get("Retry-After"); len(seconds) != 4 { // nearly 3,600
		t.Errorf("Retry-After: got %q, want nearly 3600", seconds)
	}
	guess(21, u.recovery[0]).refused(app.CodeRateLimited)
	guess(22, u.wrong()).refused(app.CodeRateLimited)
	guess(23, "").refused(app.CodeOTPRequired)
	u.tryLogin("wrong").refused(app.CodeInvalidCredentials)
	other.tryCode(w.code(other.secret, 1)).ok(200, nil)
	w.exec("UPDATE rate_limits SET hits = array(SELECT hit - interval '1 hour' FROM unnest(hits) AS hit)")
	guess(24, w.code(u.secret, 1)).ok(200, nil)
}

// Concurrent guesses do not exceed the budget of 20.
func TestConcurrentGuessesOfOTPs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.otpAccounts()["user"].enroll()
	code := u.wrong()
	results := make(chan int, 30)
	var wait sync.WaitGroup
	for range cap(results) {
		wait.Go(func() { results <- u.tryCode(code).Code })
	}
	wait.Wait()
	close(results)
	counts := map[int]int{}
	for status := range results {
		counts[status]++
	}
	if diff := cmp.Diff(map[int]int{401: otp.Failures, 429: 30 - otp.Failures}, counts); diff != "" {
		t.Errorf("statuses of concurrent guesses (-want +got):\n%s", diff)
	}
	u.tryCode(w.code(u.secret, 1)).refused(app.CodeRateLimited)
}

// A stolen session cannot guess the password with the operations of one-time passwords. All guesses, over all sessions,
// count against the account.
func TestGuessesOfThePasswordForOTPsAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.serverOn(w.db.DB, func(c *Config) { c.RateLimit, c.RateWindow = 1, time.Hour })
	for _, a := range w.otpAccounts() {
		u := a.enroll()
		w.exec("DELETE FROM rate_limits")
		hashed := atomic.Int64{}
		s.passwords.runs = func() { hashed.Add(1) }
		for i := range 3 * accountFactor {
			operation := [][2]string{
				{"DELETE", "/auth/otp"}, {"POST", "/auth/otp/recovery-codes"}, {"POST", "/auth/otp"},
			}[i%3]
			want := app.CodeInvalidCredentials
			if i >= accountFactor {
				want = app.CodeRateLimited
			}
			w.doOn(s, operation[0], operation[1], a.session(), object{"password": "wrong"}).refused(want)
		}
		if hashed.Load() != accountFactor {
			t.Errorf("hashes: got %d, want %d", hashed.Load(), accountFactor)
		}
		u.tryLogin(password).refused(app.CodeOTPRequired) // one-time passwords are still on
	}
}
