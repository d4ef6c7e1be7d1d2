package pg

import (
	"github.com/uptrace/bun"
)

// LastCharacter sorts after every other character.
const LastCharacter = "\U0010FFFF"

// SearchPeople adds conditions with OR: the full name, last name, email or phone number of a row
// begins with text, regardless of case. Each of the four columns has an index.
func SearchPeople(q *bun.SelectQuery, text string) *bun.SelectQuery {
	for _, column := range []bun.Ident{"search_name", "search_surname", "search_email", "search_phone"} {
		q.WhereOr("? >= lower(?) AND ? < lower(?)", column, text, column, text+LastCharacter)
	}
	return q
}
