package app_test

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

const validKey = "svc_live_sk_0123456789abcdef0123456789abcdef"

func TestHashAPIKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, mode := range []app.KeyMode{app.KeyLive, app.KeyTest} {
		for range 100 {
			key := app.NewAPIKeySecret(mode)
			_, ok := app.HashAPIKey(key)
			prefix := "svc_" + string(mode) + "_sk_"
			if !ok || seen[key.Reveal()] || !strings.HasPrefix(key.Reveal(), prefix) || key.Len() != 44 {
				t.Fatalf("NewAPIKeySecret(%s): %s, want a new valid key with prefix %s", mode, key.Reveal(), prefix)
			}
			seen[key.Reveal()] = true
		}
	}
	for name, key := range map[string]string{
		"empty": "", "prefix only": "svc_live_sk_", "too short": validKey[:43], "too long": validKey + "0",
		"upper case": strings.ToUpper(validKey), "upper-case digits": validKey[:12] + strings.ToUpper(validKey[12:]),
		"not hexadecimal": validKey[:43] + "g", "unknown mode": "svc_prod_sk_" + validKey[12:],
		"ends with a line feed": validKey[:43] + "\n", "followed by a line feed": validKey + "\n",
		"begins with a space": " " + validKey[:43], "contains NUL": validKey[:43] + "\x00",
		"huge": validKey + strings.Repeat("0", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := app.HashAPIKey(app.NewSecret(key)); ok {
				t.Errorf("%s: accepted, want malformed", name)
			}
		})
	}
}

// FuzzAPIKey checks that HashAPIKey accepts exactly the documented format.
func FuzzAPIKey(f *testing.F) {
	for _, seed := range []string{
		"", validKey, strings.ToUpper(validKey), validKey + "\n", "svc_test_sk_" + validKey[12:],
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := app.HashAPIKey(app.NewSecret(text))
		rest, live := strings.CutPrefix(text, "svc_live_sk_")
		if !live {
			rest, live = strings.CutPrefix(text, "svc_test_sk_")
		}
		if want := live && len(rest) == 32 && strings.Trim(rest, "0123456789abcdef") == ""; ok != want {
			t.Errorf("HashAPIKey(%q): accepted %v, want %v", text, ok, want)
		}
	})
}
