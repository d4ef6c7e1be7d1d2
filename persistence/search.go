package persistence

import (
	"github.com/uptrace/bun"
)

// lastCharacter sorts after every other character.
const lastCharacter = "\U0010FFFF"

// searchPeople adds conditions with OR: the full name, last name, email or phone number of a row
// begins with text, regardless of case. Each of the four columns has an index.
func searchPeople(q *bun.SelectQuery, text string) *bun.SelectQuery {
	for _, column := range []bun.Ident{"search_name", "search_surname", "search_email", "search_phone"} {
		q.WhereOr("? >= lower(?) AND ? < lower(?)", column, text, column, text+lastCharacter)
	}
	return q
}
