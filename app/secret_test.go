package app_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

func TestSecretIsRedacted(t *testing.T) {
	t.Parallel()
	secret := app.NewSecret("hunter2")
	holder := struct {
		Name  string
		Value app.Secret
		Ref   *app.Secret
	}{"x", secret, &secret}
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("hello", "secret", secret, "holder", holder)
	for _, shown := range []string{
		fmt.Sprint(secret),
		fmt.Sprintf("%v %+v %#v %s %q %x %d", secret, holder, secret, secret, secret, secret, secret),
		fmt.Sprintf("%#v", holder), string(encoded), log.String(), fmt.Sprint(fmt.Errorf("bad: %v", secret)),
	} {
		if strings.Contains(shown, "hunter2") || strings.Contains(shown, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the secret is visible in %s", shown)
		}
	}
	var read app.Secret
	if err := json.Unmarshal([]byte(`"hunter2"`), &read); err != nil || read.Reveal() != "hunter2" || read.Len() != 7 {
		t.Errorf("decoded %q, %v, want hunter2", read.Reveal(), err)
	}
}
