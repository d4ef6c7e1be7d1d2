package app

import (
	"strings"
	"testing"
)

func TestPasswordFault(t *testing.T) {
	t.Parallel()
	words := []string{
		"ada.lovelace@engine.example", "A-._+-1-2@x.io", "Ada Lovelace", "Trattoria Mitte", "trattoria.example",
	}
	for _, c := range []struct{ password, want string }{
		{"correct horse battery", ""},
		{" spaces count ", ""},
		{"ölmühlenweg", ""},
		{"пароль-для-еды", ""},
		{"水煮鱼很好吃的呀", ""},
		{strings.Repeat("correct horse ", 73) + "ok", ""},
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
		{"a-._+-1-2", "names"},
		{"A-._+-1-2@X.io", "names"},
		{"a-._+-1-2@x.io!", "names"},
		{"!a-._+-1-2#7", "names"},

		{"aaaaaaaaa", "sequence"},
		{"AAAAaaaaaAA", "sequence"},
		{"水水水水水水水水", "sequence"},
		{strings.Repeat("x", MaxPassword), "sequence"},
		{"xyxyxyxyx", "sequence"},
		{"x7-x7-x7-", "sequence"},
		{"x7-X7-x7-X", "sequence"},
		{"#########", "sequence"},
		{"aaaabbbbcccc", "sequence"},
		{"abcdefghijk", "sequence"},
		{"ZyXwVuTsRq", "sequence"},
		{"23456789012", "sequence"},
		{"0987654321098", "sequence"},
		{"wertyuiop", "sequence"},
		{"poiuytrew", "sequence"},
		{"SDFGHJKLKJHGF", "sequence"},
		{"mnbvcxzmnbvcxz", "sequence"},
		{"tzuiopoiuzt", "sequence"},
		{"azertyuiopp", "sequence"},
		{"@#$%^&*(", "sequence"},
		{"klmnklmn9876", "sequence"},
		{"opq987tre", "sequence"},
		{"-ijklmnop-7x", "sequence"},
		{"efghijk x7q", "sequence"},

		{"efghijk xpqy", ""}, // four other letters
		{"powertree", ""},    // parts of rows with three characters
		{"mississippi river", ""},
		{"tartar sauce", ""},
		{"abcd 12 tz 90 77", ""},
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
