package app_test

import (
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

const aKey = "svc_live_sk_0123456789abcdef0123456789abcdef"

func TestAPIKeyForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, mode := range []app.KeyMode{app.KeyLive, app.KeyTest} {
		for range 100 {
			key := app.NewAPIKeySecret(mode)
			if _, ok := app.HashAPIKey(key); !ok || seen[key.Reveal()] || !strings.HasPrefix(key.Reveal(), "svc_"+string(mode)+"_sk_") || key.Len() != 44 {
				t.Fatalf("%s", key.Reveal())
			}
			seen[key.Reveal()] = true
		}
	}
	for name, key := range map[string]string{
		"empty": "", "prefix alone": "svc_live_sk_", "short": aKey[:43], "long": aKey + "0", "upper case": strings.ToUpper(aKey),
		"upper-case digits": aKey[:12] + strings.ToUpper(aKey[12:]), "not hexadecimal": aKey[:43] + "g", "another mode": "svc_prod_sk_" + aKey[12:],
		"a line feed": aKey[:43] + "\n", "a line feed after it": aKey + "\n", "a space": " " + aKey[:43], "a NUL": aKey[:43] + "\x00", "huge": aKey + strings.Repeat("0", 1<<20),
	} {
		if _, ok := app.HashAPIKey(app.NewSecret(key)); ok {
			t.Errorf("%s is taken for a key", name)
		}
	}
}

// FuzzAPIKey: exactly one spelling of a key is taken.
func FuzzAPIKey(f *testing.F) {
	for _, seed := range []string{"", aKey, strings.ToUpper(aKey), aKey + "\n", "svc_test_sk_" + aKey[12:]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, ok := app.HashAPIKey(app.NewSecret(text))
		rest, live := strings.CutPrefix(text, "svc_live_sk_")
		if !live {
			rest, live = strings.CutPrefix(text, "svc_test_sk_")
		}
		if want := live && len(rest) == 32 && strings.Trim(rest, "0123456789abcdef") == ""; ok != want {
			t.Errorf("%q: %v", text, ok)
		}
	})
}
