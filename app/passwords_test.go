package app

import (
	"strings"
	"testing"
)

func TestPasswordFault(t *testing.T) {
	t.Parallel()
	words := []string{"ada.lovelace@engine.example", "Ada Lovelace", "Trattoria Mitte", "trattoria.example"}
	for _, c := range []struct{ password, want string }{
		{"correct horse battery", ""},
		{" spaces count ", ""},
		{"ölmühlenweg", ""},
		{"пароль-для-еды", ""},
		{"水煮鱼很好吃的呀", ""},
		{strings.Repeat("x", MaxPassword), ""},
		{"dragon7391846205", ""}, // too long a number for padding
		{"adamantium flow", ""},
		{"trattoria umbrella", ""},

		{"1234567", "at least 8 characters"},
		{"ölmühle", "at least 8 characters"}, // nine bytes
		{"👍👍👍👍👍👍👍", "at least 8 characters"},
		{"", "at least 8 characters"},
		{strings.Repeat("x", MaxPassword+1), "at most 1024 bytes"},
		{strings.Repeat("ö", 513), "at most 1024 bytes"},

		{"football!", "common"},
		{"iloveyou1", "common"},
		{"ILoveYou2026!", "common"},
		{"P@ssw0rd1", "common"},
		{"12345678", "common"},
		{"12345678!!", "common"},
		{"!!dragon!!", "common"},

		{"Comanda2026", "names"},
		{"C0manda!!", "names"},
		{"trattoria", "names"},
		{"Trattoria-Mitte-2026", "names"},
		{"adalovelace", "names"},
		{"ada.lovelace@engine.example", "names"},
		{"lovelace1815", "common"},
		{"engineada!", "names"},
	} {
		got := PasswordFault(NewSecret(c.password), words...)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%.40q: got %q, want %q", c.password, got, c.want)
		}
	}
	if n := len(commonPasswordSet()); n < 10_000 {
		t.Errorf("common passwords: got %d, want at least 10000", n)
	}
	for password := range commonPasswordSet() {
		if password != strings.ToLower(strings.TrimSpace(password)) || password == "" {
			t.Fatalf("common password %q: want lower case without white space", password)
		}
	}
}
