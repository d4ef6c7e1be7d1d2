package app

import (
	"strings"
	"time"
)

// PasswordResetTTL is the time for which a link that resets a password is valid (docs/behaviour.md#password-resets).
const PasswordResetTTL = time.Hour

// PasswordResetsPerHour is the number of mails with such links for one account (docs/behaviour.md#password-resets).
const PasswordResetsPerHour = 5

// Prefixes of the tokens in links to /account, by which the page of the service finds the operation. They are no
// secrets.
const (
	UserResetPrefix     = "usr_"
	CustomerResetPrefix = "cus_"
)

// PasswordResetLink returns the URL of the page on which a password is reset. The token is in the fragment, which
// browsers do not send to servers.
func PasswordResetLink(baseURL string, token Secret) string {
	return strings.TrimRight(baseURL, "/") + "/account/reset#token=" + token.Reveal()
}
