package app

import (
	"slices"
	"unicode"
)

const (
	// shortPattern is the number of characters from which a password that consists of patterns only is refused. Many
	// words contain patterns of three characters.
	shortPattern = 3
	// longPattern is the number of characters from which a pattern does not count as a part of the password.
	longPattern = 4
	// maxUnit is the number of characters in the unit of a repeat.
	maxUnit = 3
)

// rows are the sequences whose parts are patterns, in both directions: the alphabet, the digits, and the rows of the
// keyboards QWERTY, QWERTZ and AZERTY.
var rows = func() (rows [][]rune) {
	for _, row := range []string{
		"abcdefghijklmnopqrstuvwxyz", "01234567890", "!@#$%^&*()",
		"qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn",
	} {
		forwards := []rune(row)
		backwards := slices.Clone(forwards)
		slices.Reverse(backwards)
		rows = append(rows, forwards, backwards)
	}
	return rows
}()

// isPredictable reports whether a password in lower case consists of repeats and sequences, with hardly anything else:
// at most eight further characters, of which at most three are letters.
func isPredictable(password string) bool {
	value := []rune(password)
	rest := withoutPatterns(value, longPattern)
	return len(rest) < len(value) && isPadding(rest) || len(withoutPatterns(value, shortPattern)) == 0
}

// isPadding reports whether the rest of a password adds hardly anything to a guessable part.
func isPadding(rest []rune) bool {
	letters := 0
	for _, r := range rest {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	return letters <= maxPaddingLetters && len(rest) <= maxPadding
}

// withoutPatterns returns the characters that are not part of a repeat or a sequence of at least some characters.
func withoutPatterns(value []rune, least int) (rest []rune) {
	for i := 0; i < len(value); {
		if n := max(repeatAt(value[i:]), sequenceAt(value[i:])); n >= least {
			i += n
			continue
		}
		rest = append(rest, value[i])
		i++
	}
	return rest
}

// repeatAt returns the length of the longest repeat at the start of a text: a unit that occurs at least twice, the last
// time perhaps in part. It returns 0 if there is none.
func repeatAt(value []rune) (longest int) {
	for unit := 1; unit <= maxUnit; unit++ {
		n := unit
		for n < len(value) && value[n] == value[n-unit] {
			n++
		}
		if n >= 2*unit {
			longest = max(longest, n)
		}
	}
	return longest
}

// sequenceAt returns the length of the longest part of a row at the start of a text.
func sequenceAt(value []rune) (longest int) {
	for _, row := range rows {
		for start := range row {
			n := 0
			for n < len(value) && start+n < len(row) && value[n] == row[start+n] {
				n++
			}
			longest = max(longest, n)
		}
	}
	return longest
}
