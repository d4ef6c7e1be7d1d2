package app

import "strings"

// NormalEmail returns an email in the form in which emails are compared: with the ASCII letters in lower case. Other
// letters are unchanged, because their case depends on the language: to Turkish readers, the lower case of I is ı. The
// database compares emails in the same way, regardless of its locale.
func NormalEmail(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, email)
}
