package app_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestKeyring(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	ring := func(list string) app.Keyring {
		ring, err := app.NewKeyring(app.NewSecret(list))
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	sealed := ring(first).Sealer().Seal(app.NewSecret("webhook secret"), "whk_1")
	if strings.Contains(string(sealed), "webhook") {
		t.Error("the sealed bytes contain the secret")
	}
	for name, test := range map[string]struct {
		ring  app.Keyring
		owner string
		ok    bool
	}{
		"the same ring":       {ring(first), "whk_1", true},
		"after a rotation":    {ring(second + "," + first), "whk_1", true},
		"after a removal":     {ring(second), "whk_1", false},
		"moved to another id": {ring(first), "whk_2", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.ring.Sealer().Open(sealed, test.owner)
			if (err == nil) != test.ok || test.ok && got.Reveal() != "webhook secret" {
				t.Errorf("%s: opened %q, error %v, want success %v", name, got.Reveal(), err, test.ok)
			}
		})
	}
	sealed[len(sealed)-1]++
	if _, err := ring(first).Sealer().Open(sealed, "whk_1"); err == nil {
		t.Error("a modified sealed secret was opened")
	}
	for _, short := range []string{"", strings.Repeat("a", 31), first + ",", first + "," + "short"} {
		if _, err := app.NewKeyring(app.NewSecret(short)); err == nil {
			t.Errorf("NewKeyring(%q) succeeded, want an error about short keys", short)
		}
	}
	keys := ring(first + "," + second).Derive("one")
	if len(keys) != 2 || keys[0].ID == keys[1].ID || cmp.Equal(keys[0].Bytes, ring(first).Derive("two")[0].Bytes) {
		t.Error("keys derived from different keys or for different purposes are equal")
	}
}
