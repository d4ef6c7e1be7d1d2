package app

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Limits of passwords (docs/behaviour.md#passwords).
const (
	MinPassword = 8    // characters, of new passwords
	MaxPassword = 1024 // bytes
)

const (
	// maxPadding is the number of digits and symbols that do not make a common or a guessable password acceptable.
	maxPadding = 8
	// maxPaddingLetters is the number of letters among them.
	maxPaddingLetters = 3
)

// commonPasswords are 49,000 common and breached passwords and common words, in lower case, from the npm package
// @zxcvbn-ts/language-common 4.1.3 (MIT licence).
//
//go:embed common_passwords.txt
var commonPasswords string

var commonPasswordSet = sync.OnceValue(func() map[string]bool {
	set := make(map[string]bool, strings.Count(commonPasswords, "\n"))
	for line := range strings.Lines(commonPasswords) {
		set[strings.TrimSuffix(line, "\n")] = true
	}
	return set
})

// leet replaces the digits and symbols that are written for letters.
var leet = strings.NewReplacer("@", "a", "4", "a", "3", "e", "1", "i", "!", "i", "0", "o", "$", "s", "5", "s", "7", "t")

// PasswordFault returns the reason why a new password is refused, "" if it is accepted. The words are those that an
// attacker guesses first: the user's email and name, and the names of the store and the website.
func PasswordFault(password Secret, words ...string) string {
	value := password.Reveal()
	switch {
	case utf8.RuneCountInString(value) < MinPassword:
		return fmt.Sprintf("must have at least %d characters", MinPassword)
	case len(value) > MaxPassword:
		return fmt.Sprintf("must have at most %d bytes", MaxPassword)
	case IsCommonPassword(password):
		return "is a common password; choose another one"
	case isPredictable(strings.ToLower(value)):
		return "must not be a repeat or a sequence such as abcabc, 4321 or qwerty; choose another one"
	case isMadeOf(strings.ToLower(value), append(words, "comanda")):
		return "must not be made of the email or of names; choose another one"
	}
	return ""
}

// IsCommonPassword reports whether a password is on the list of common passwords. It ignores case, letters that are
// written as digits, and up to eight digits and symbols around the rest.
func IsCommonPassword(password Secret) bool {
	value, common := strings.ToLower(password.Reveal()), commonPasswordSet()
	inner := strings.TrimFunc(value, notLetter)
	for _, candidate := range []string{
		value, strings.TrimFunc(value, isSymbol), strings.TrimRightFunc(value, notLetter), inner,
	} {
		padding := utf8.RuneCountInString(value) - utf8.RuneCountInString(candidate)
		if padding <= maxPadding && (common[candidate] || common[leet.Replace(candidate)]) {
			return true
		}
	}
	return false
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

func isSymbol(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isMadeOf reports whether a password in lower case contains words and hardly anything else, see isPadding.
func isMadeOf(password string, texts []string) bool {
	words := contextWords(texts)
	for _, variant := range []string{password, leet.Replace(password)} {
		rest := variant
		for _, word := range words {
			rest = strings.ReplaceAll(rest, word, "")
		}
		if rest != variant && isPadding([]rune(rest)) {
			return true
		}
	}
	return false
}

// contextWords returns the words of texts with at least three characters, in lower case, the longest first. An email
// and its local part are also words as a whole, with their symbols.
func contextWords(texts []string) (words []string) {
	for _, text := range texts {
		text = strings.ToLower(text)
		parts := strings.FieldsFunc(text, isSymbol)
		if at := strings.LastIndexByte(text, '@'); at >= 0 {
			parts = append(parts, text, text[:at])
		}
		for _, word := range parts {
			if utf8.RuneCountInString(word) >= 3 {
				words = append(words, word)
			}
		}
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	return words
}
