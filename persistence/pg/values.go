package pg

import (
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"
)

// PostgreSQL logs the text of each statement that fails, for example when a client disconnects, and of all statements
// of a deadlock. Bun writes values into the text. Therefore this dialect encloses texts, JSON and bytes in NUL, which
// the text of a statement cannot contain, and the driver sends them as parameters. Ids, times, numbers and arrays stay
// in the text, where the planner uses them; arrays of personal data need a parameter ($1).
type dialect struct{ *pgdialect.Dialect }

// nul encloses a value in the text of a statement.
const nul = "\x00"

var idForm = regexp.MustCompile(`^[a-z]{3,4}_[0-9a-f]{32}$`)

// AppendString encloses a text in NUL, unless it is an id. Bun reports the error of a text that contains NUL.
func (d dialect) AppendString(b []byte, s string) []byte {
	if idForm.MatchString(s) || strings.Contains(s, nul) {
		return d.Dialect.AppendString(b, s)
	}
	return append(append(append(b, nul...), strings.ToValidUTF8(s, "\uFFFD")...), nul...)
}

// AppendBytes encloses bytes, in the hex format of bytea, in NUL.
func (d dialect) AppendBytes(b, bytes []byte) []byte {
	if bytes == nil {
		return d.Dialect.AppendBytes(b, bytes)
	}
	return append(hex.AppendEncode(append(b, nul+`\x`...), bytes), nul...)
}

// AppendJSON encloses JSON in NUL. Bun escapes a NUL in the JSON, which jsonb cannot contain.
func (d dialect) AppendJSON(b, json []byte) []byte {
	literal := d.Dialect.AppendJSON(nil, json)
	escaped := strings.ReplaceAll(string(literal[1:len(literal)-1]), "''", "'")
	return append(append(append(b, nul...), escaped...), nul...)
}

var _ schema.Dialect = dialect{}

// parameters replaces the enclosed values of a statement by $1, $2 and so on, and returns them. PostgreSQL derives the
// type of a parameter from its place, as for a literal.
func parameters(query string) (string, []string) {
	parts := strings.Split(query, nul) // the values are at the odd indexes
	if len(parts) == 1 {
		return query, nil
	}
	var text strings.Builder
	var values []string
	for i, part := range parts {
		if i%2 == 0 {
			text.WriteString(part)
			continue
		}
		values = append(values, part)
		text.WriteString("$" + strconv.Itoa(len(values)))
	}
	return text.String(), values
}
