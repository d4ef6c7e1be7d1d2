package app_test

import (
	"testing"

	"github.com/comanda-dev/comanda/app"
)

func TestProvesEmail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider app.Provider
		email    string
		verified bool
		hosted   string
		want     bool
	}{
		{app.ProviderGoogle, "ada@gmail.com", true, "", true},
		{app.ProviderGoogle, "Ada@GMail.com", true, "", true},
		{app.ProviderGoogle, "ada@example.com", true, "example.com", true},
		{app.ProviderGoogle, "ada@example.com", true, "", false},
		{app.ProviderGoogle, "ada@notgmail.com", true, "", false},
		{app.ProviderGoogle, "ada@gmail.com.example.com", true, "", false},
		{app.ProviderGoogle, "ada@gmail.com", false, "", false},
		{app.ProviderGoogle, "ada@example.com", false, "example.com", false},
		{app.ProviderApple, "ada@example.com", true, "", true},
		{app.ProviderApple, "ada@example.com", false, "", false},
		{app.ProviderFacebook, "ada@example.com", true, "", true},
		{app.ProviderFacebook, "", true, "", false},
	} {
		if got := c.provider.ProvesEmail(c.email, c.verified, c.hosted); got != c.want {
			t.Errorf("%s vouches for %s (verified %v, hosted domain %q): %v, want %v",
				c.provider, c.email, c.verified, c.hosted, got, c.want)
		}
	}
}
