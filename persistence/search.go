package persistence

import (
	"github.com/uptrace/bun"
)

// afterAll is the character that none sorts after.
const afterAll = "\U0010FFFF"

// searchPeople narrows a query, by OR, to rows of somebody whose name, last name, e-mail
// address or phone number begins with a text, in any case. Each of the four has an index.
func searchPeople(q *bun.SelectQuery, text string) *bun.SelectQuery {
	for _, column := range []bun.Ident{"search_name", "search_surname", "search_email", "search_phone"} {
		q.WhereOr("? >= lower(?) AND ? < lower(?)", column, text, column, text+afterAll)
	}
	return q
}
