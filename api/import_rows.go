package api

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/comanda-dev/comanda/app"
)

// maxRowsBody is the limit of the body of an operation with rows, in bytes.
const maxRowsBody = 8 << 20

// byRows marks an endpoint whose body is an array of rows, in JSON or CSV. Its request type has the member rows.
func (e endpoint) byRows() endpoint {
	e.rows = true
	return e
}

// readRows returns a body of rows as a JSON object with the member rows. It returns UNSUPPORTED_MEDIA_TYPE, and
// VALIDATION_FAILED for a body with a fault of syntax.
func readRows(header http.Header, body []byte) ([]byte, error) {
	switch {
	case isText(header, "application/json"):
		if err := checkSyntax(body); err != nil {
			return nil, withinRows(err)
		}
		return slices.Concat([]byte(`{"rows":`), body, []byte("}")), nil
	case isText(header, "text/csv"):
		return csvRows(body)
	}
	return nil, app.Errorf(app.CodeUnsupportedMediaType,
		"the Content-Type must be application/json or text/csv in UTF-8, without a Content-Encoding")
}

// withinRows prefixes the paths of the details of an error with rows.
func withinRows(err error) error {
	refusal, ok := errors.AsType[*app.Error](err)
	if !ok || len(refusal.Details) == 0 {
		return err
	}
	var details []app.Detail
	for _, d := range refusal.Details {
		details = append(details, app.Detail{Path: "rows" + d.Path, Message: d.Message})
	}
	return app.InvalidAll(details)
}

// isText reports whether the body has a media type, in UTF-8 and without an encoding.
func isText(header http.Header, wanted string) bool {
	types := header.Values("Content-Type")
	if len(types) != 1 || header.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(types[0])
	charset, declared := params["charset"]
	return err == nil && mediaType == wanted && (!declared || strings.EqualFold(charset, "utf-8"))
}

// cellKind is the JSON type of the cells of a column.
type cellKind int

const (
	textCell    cellKind = iota
	clearedCell          // text, or null if the cell is empty
	integerCell          // null if the cell is empty
	booleanCell          // null if the cell is empty
)

// csvColumns are the columns of an import (docs/behaviour.md#product-imports).
var csvColumns = map[string]cellKind{
	"sku": textCell, "name": textCell, "description": clearedCell, "category": clearedCell, "priceMinor": integerCell,
	"currency": textCell, "taxRatePpm": integerCell, "isAvailable": booleanCell, "stockQuantity": integerCell,
	"position": integerCell, "externalId": clearedCell,
}

// columnNames are the columns in the documented order, for messages.
const columnNames = "sku, name, description, category, priceMinor, currency, taxRatePpm, isAvailable, " +
	"stockQuantity, position, externalId"

// csvRows returns the rows of a CSV as a JSON object. The header line determines the separator. Cells that are not of
// their column's type become strings, which validation refuses with the path of the cell. Rows beyond the limit are not
// read.
func csvRows(body []byte) ([]byte, error) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return nil, app.Errorf(app.CodeValidationFailed, "the CSV must be UTF-8 without NUL")
	}
	reader := csv.NewReader(bytes.NewReader(body))
	if line, _, _ := bytes.Cut(body, []byte("\n")); bytes.ContainsRune(line, ';') {
		reader.Comma = ';'
	}
	reader.FieldsPerRecord = -1
	names, err := csvHeader(reader)
	if err != nil {
		return nil, err
	}
	out := []byte(`{"rows":[`)
	var faults []app.Detail
	for row := 0; row <= maxRows; row++ {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformedCSV(err)
		}
		if len(cells) != len(names) {
			message := fmt.Sprintf("has %d cells, but the header line has %d", len(cells), len(names))
			faults = append(faults, app.Detail{Path: fmt.Sprintf("rows[%d]", row), Message: message})
			continue
		}
		if row > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, `"`+name+`":`...), cellValue(csvColumns[name], cells[i])...)
		}
		out = append(out, '}')
	}
	if len(faults) > 0 {
		return nil, app.InvalidAll(faults[:min(len(faults), app.MaxImportFaults)])
	}
	return append(out, "]}"...), nil
}

// csvHeader reads the header line and checks its columns.
func csvHeader(reader *csv.Reader) ([]string, error) {
	names, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, app.Errorf(app.CodeValidationFailed, "the CSV must begin with a line of column names")
	}
	if err != nil {
		return nil, malformedCSV(err)
	}
	var faults []app.Detail
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		_, known := csvColumns[name]
		switch {
		case !known:
			faults = append(faults, app.Detail{
				Path:    strings.ToValidUTF8(cut(member("", name), maxPathBytes), ""),
				Message: "is not a column; the columns are " + columnNames,
			})
		case slices.Contains(names[:i], name):
			faults = append(faults, app.Detail{Path: name, Message: "is a duplicate"})
		}
	}
	if !slices.Contains(names, "sku") {
		faults = append(faults, app.Detail{Path: "sku", Message: "is a required column"})
	}
	if len(faults) > 0 {
		return nil, app.InvalidAll(faults[:min(len(faults), app.MaxImportFaults)])
	}
	return names, nil
}

func malformedCSV(err error) error {
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		return app.Errorf(app.CodeValidationFailed, "the CSV is malformed near line %d, column %d: %v", fault.Line,
			fault.Column, fault.Err)
	}
	return err
}

// wholeNumber matches integers as in JSON.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,30})$`)

// disarmedFormula matches a text that an export protects from spreadsheets, which run texts with these first characters
// as formulas. The export prepends an apostrophe, also if there is one already.
var disarmedFormula = regexp.MustCompile(`^'+[=+\-@\t\r]`)

// armed returns the text of a cell without the apostrophe that an export prepends to a formula.
func armed(text string) string {
	if disarmedFormula.MatchString(text) {
		return text[1:]
	}
	return text
}

// cellValue returns the JSON of a cell.
func cellValue(kind cellKind, text string) []byte {
	switch {
	case text == "" && kind != textCell:
		return []byte("null")
	case kind == integerCell && wholeNumber.MatchString(text):
		return []byte(text)
	case kind == booleanCell && (strings.EqualFold(text, "true") || strings.EqualFold(text, "false")):
		return []byte(strings.ToLower(text))
	}
	quoted, err := jsontext.AppendQuote(nil, armed(text))
	must(err) // cannot fail: the text is UTF-8
	return quoted
}
