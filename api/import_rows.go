package api

import (
	"bufio"
	"bytes"
	"context"
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

// Limits of a body of rows, in bytes.
const (
	maxRowsBody = 8 << 20
	maxRowBytes = 64 << 10 // of one row
)

// byRows marks an endpoint whose body is an array of rows, in JSON or CSV. Its request type has the member rows.
func (e endpoint) byRows() endpoint {
	e.rows = true
	return e
}

// rowsTooLarge returns the error of a body of rows that is too large.
func rowsTooLarge() error {
	return app.Errorf(app.CodePayloadTooLarge, "the body must have at most %d bytes", maxRowsBody)
}

// announceRows checks the headers of a body of rows.
func (c *call) announceRows() error {
	switch header := c.request.Header; {
	case c.request.ContentLength > maxRowsBody:
		return rowsTooLarge()
	case c.request.ContentLength == 0:
		return noRows()
	case !isText(header, "application/json") && !isText(header, "text/csv"):
		return app.Errorf(app.CodeUnsupportedMediaType,
			"the Content-Type must be application/json or text/csv in UTF-8, without a Content-Encoding")
	}
	return nil
}

func noRows() error {
	return app.Errorf(app.CodeValidationFailed, "the body must be a JSON array or a CSV")
}

// readRows reads a body of rows and makes it a JSON object with the member rows. It runs after authorization: its cost
// grows with the body.
func (s *Server) readRows(ctx context.Context, c *call) error {
	if !c.route.Handler.rows {
		return nil
	}
	size := c.request.ContentLength
	if size < 0 { // unknown
		size = maxRowsBody
	}
	var err error
	if c.memory, err = s.rows.take(string(c.principal.WebsiteID), size); err != nil {
		return err
	}
	rows := &rowReader{ctx: ctx, body: c.bodyUntil(ctx, maxRowsBody)}
	read := csvRows
	if isText(c.request.Header, "application/json") {
		read = jsonRows
	}
	body, err := read(rows)
	switch _, tooLarge := errors.AsType[*http.MaxBytesError](err); {
	case tooLarge:
		return rowsTooLarge()
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errBroken):
		return broken(ctx, err)
	}
	c.body, c.rowFaults = body, rows.faults
	return err
}

// rowReader reads a body until its context ends, and at most maxRowBytes beyond the rows that were consumed.
type rowReader struct {
	ctx         context.Context
	body        io.Reader
	read, limit int64
	err         error        // of the latest read; decoders wrap it in errors of syntax
	faults      []app.Detail // of rows that were read
}

var (
	errBroken   = errors.New("the body could not be read")
	errRowBytes = errors.New("a row is too large")
)

// next lets the next row be read, which begins at an offset. Decoders read ahead by up to ahead bytes.
func (r *rowReader) next(offset, ahead int64) { r.limit = offset + maxRowBytes + ahead }

func (r *rowReader) Read(p []byte) (n int, err error) {
	defer func() { r.err = err }()
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	room := r.limit - r.read
	if room <= 0 {
		return 0, errRowBytes
	}
	n, err = r.body.Read(p[:min(int64(len(p)), room)])
	r.read += int64(n)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !errors.Is(err, io.EOF) && !tooLarge {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

func rowTooLarge(row int) error {
	return app.Invalid(fmt.Sprintf("rows[%d]", row), fmt.Sprintf("must have at most %d bytes", maxRowBytes))
}

// jsonRows returns the rows of a JSON array. Rows beyond the limit are not read.
func jsonRows(body *rowReader) ([]byte, error) {
	decoder := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true))
	fail := func(row int, err error) error {
		if errors.Is(err, errRowBytes) {
			return rowTooLarge(row)
		}
		if body.err != nil && !errors.Is(body.err, io.EOF) {
			return body.err
		}
		if _, syntax := errors.AsType[*jsontext.SyntacticError](err); syntax || errors.Is(err, io.ErrUnexpectedEOF) {
			return notJSON(err)
		}
		return err
	}
	body.next(0, 1)
	switch token, err := decoder.ReadToken(); {
	case errors.Is(err, io.EOF):
		return nil, noRows()
	case err != nil:
		return nil, fail(0, err)
	case token.Kind() != '[':
		return nil, app.Invalid("rows", anArray.must())
	}
	out := []byte(`{"rows":[`)
	for row := 0; row <= maxRows; row++ {
		body.next(decoder.InputOffset(), 1)
		if decoder.PeekKind() == ']' {
			break
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, fail(row, err)
		}
		if row > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
		if row == maxRows {
			return append(out, "]}"...), nil // validation refuses the number of rows
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, fail(maxRows, err)
	}
	body.next(decoder.InputOffset(), 1)
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, notJSON(err)
	}
	return append(out, "]}"...), nil
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

// csvAhead is the size of the buffer of a CSV reader, and the limit of its header line, in bytes.
const csvAhead = 4096

// csvRows returns the rows of a CSV. The header line determines the separator. Cells that are not of their column's
// type become strings, which validation refuses with the path of the cell. A row with another number of cells than the
// header line is a fault, and becomes an empty object. Rows beyond the limit are not read.
func csvRows(body *rowReader) ([]byte, error) {
	body.next(0, csvAhead)
	buffered := bufio.NewReaderSize(body, csvAhead)
	start, err := buffered.Peek(csvAhead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(start) == 0 {
		return nil, noRows()
	}
	reader := csv.NewReader(buffered)
	reader.FieldsPerRecord, reader.ReuseRecord = -1, true
	if line, _, _ := bytes.Cut(start, []byte("\n")); bytes.ContainsRune(line, ';') {
		reader.Comma = ';'
	}
	if bytes.HasPrefix(start, []byte("\ufeff")) {
		_, err := buffered.Discard(len("\ufeff"))
		must(err) // cannot fail: the bytes are in the buffer
	}
	names, err := csvHeader(reader)
	if err != nil {
		return nil, err
	}
	out := []byte(`{"rows":[`)
	for row := 0; row <= maxRows && len(body.faults) < app.MaxImportFaults; row++ {
		before := reader.InputOffset()
		body.next(before, csvAhead)
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, errRowBytes) || err == nil && reader.InputOffset()-before > maxRowBytes {
			return nil, rowTooLarge(row)
		}
		if err == nil {
			err = checkCells(cells)
		}
		if err != nil {
			return nil, malformedCSV(err)
		}
		if len(cells) != len(names) {
			message := fmt.Sprintf("has %d cells, but the header line has %d", len(cells), len(names))
			body.faults = append(body.faults, app.Detail{Path: fmt.Sprintf("rows[%d]", row), Message: message})
			cells = nil
		}
		if row > 0 {
			out = append(out, ',')
		}
		out = appendRow(out, names[:len(cells)], cells)
		if len(out) > 2*maxRowsBody { // control characters take six bytes each in JSON
			return nil, rowsTooLarge()
		}
	}
	return append(out, "]}"...), nil
}

// appendRow appends a row as a JSON object.
func appendRow(out []byte, names, cells []string) []byte {
	out = append(out, '{')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, `"`+name+`":`...), cellValue(csvColumns[name], cells[i])...)
	}
	return append(out, '}')
}

func checkCells(cells []string) error {
	for _, cell := range cells {
		if !utf8.ValidString(cell) || strings.ContainsRune(cell, 0) {
			return app.Errorf(app.CodeValidationFailed, "the CSV must be UTF-8 without NUL")
		}
	}
	return nil
}

// csvHeader reads the header line. It stops at the first unknown, repeated or empty column, so that it looks at no more
// than one column beyond the known ones.
func csvHeader(reader *csv.Reader) ([]string, error) {
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, app.Errorf(app.CodeValidationFailed, "the CSV must begin with a line of column names")
	}
	if errors.Is(err, errRowBytes) || err == nil && reader.InputOffset() > csvAhead {
		return nil, app.Errorf(app.CodeValidationFailed, "the line of column names must have at most %d bytes",
			csvAhead)
	}
	if err != nil {
		return nil, malformedCSV(err)
	}
	names := make([]string, 0, len(csvColumns))
	for _, name := range header {
		name = strings.TrimSpace(name)
		if _, known := csvColumns[name]; !known {
			return nil, app.Invalid(strings.ToValidUTF8(cut(member("", name), maxPathBytes), ""),
				"is not a column; the columns are "+columnNames)
		}
		if slices.Contains(names, name) {
			return nil, app.Invalid(name, "is a duplicate")
		}
		names = append(names, name)
	}
	if !slices.Contains(names, "sku") {
		return nil, app.Invalid("sku", "is a required column")
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
