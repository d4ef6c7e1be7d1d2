package pg

import (
	"slices"
	"testing"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"
)

// A statement's text contains ids, numbers and arrays. All other values become parameters.
func TestParameters(t *testing.T) {
	t.Parallel()
	gen := schema.NewQueryGen(dialect{pgdialect.New()})
	const id = "cus_0190a1b2c3d47e8f9012a3b4c5d6e7f8"
	for _, test := range []struct {
		value  any
		text   string
		values []string
	}{
		{"Ada", "$1", []string{"Ada"}},
		{"", "$1", []string{""}},
		{"O'Neil'' --", "$1", []string{"O'Neil'' --"}},
		{`back\slash $1 ?`, "$1", []string{`back\slash $1 ?`}},
		{"a\xffb", "$1", []string{"a\uFFFDb"}},
		{id, "'" + id + "'", nil},
		{[]byte{0, 255, '\''}, "$1", []string{`\x00ff27`}},
		{[]byte(nil), "NULL", nil},
		{map[string]any{"a": `it's "b"`}, "$1", []string{`{"a":"it's \"b\""}`}},
		{42, "42", nil},
		{pgdialect.Array([]string{"a\x00'"}), `'{"a''"}'`, nil},
		{"NUL \x00", "?!(bun: string contains a NUL byte (0x00))", nil},
	} {
		formatted := gen.FormatQuery("SELECT ?", test.value)
		text, values := parameters(formatted)
		if text != "SELECT "+test.text || !slices.Equal(values, test.values) {
			t.Errorf("%q: got %q with %q, want %q with %q", test.value, text, values, "SELECT "+test.text, test.values)
		}
	}
}
