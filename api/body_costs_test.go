package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// counted counts the bytes that are read from a body. It hides the length of the body.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// chunked sends a body of unknown length.
func chunked(body io.Reader) func(*http.Request) {
	return func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(body), -1 }
}

// allocated returns the bytes that f allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// A request without a credential, or without the role, is refused before its rows are read. The test runs alone,
// because it measures the allocations of the process.
func TestRowsAreReadAfterAuthorization(t *testing.T) {
	w := newWorld(t)
	w.do("POST", "/products/import", "", []any{}).refused(app.CodeTokenInvalid) // reads the OpenAPI document
	for name, c := range map[string]struct{ mediaType, text string }{
		"CSV":  {"text/csv", strings.Repeat(",", maxRowsBody)},
		"JSON": {"application/json", "[" + strings.Repeat("[],", maxRowsBody/3) + "0]"},
	} {
		for token, want := range map[string]app.Code{
			"": app.CodeTokenInvalid, "x": app.CodeTokenInvalid, w.tokens["STAFF"]: app.CodeInsufficientRole,
		} {
			body := &counted{Reader: strings.NewReader(c.text)}
			grown := allocated(func() {
				w.do("POST", "/products/import", token, nil, mediaType(c.mediaType), chunked(body)).refused(want)
			})
			if body.read > 64<<10 || grown > 10<<20 {
				t.Errorf("%s: got %d bytes read and %d allocated, want at most 64 KiB and 10 MiB", name, body.read,
					grown)
			}
		}
	}
}

// Other bodies are checked for their syntax before the credential, without building their values.
func TestSyntaxIsCheckedWithoutValues(t *testing.T) {
	w := newWorld(t)
	// The first response builds the document with which all are compared.
	w.do("POST", "/products", "", object{}).refused(app.CodeTokenInvalid)
	var names strings.Builder
	for i := 0; names.Len() < maxBody-20; i++ {
		fmt.Fprintf(&names, `"%x":"\u0000",`, i)
	}
	for name, body := range map[string]string{
		"elements": `{"x":[` + strings.Repeat("{},", maxBody/3-10) + `0]}`,
		"members":  `{` + names.String() + `"":0}`,
		"texts":    `{"x":[` + strings.Repeat(`"",`, maxBody/3-10) + `0]}`,
		"depth":    `{"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		for path, want := range map[string]app.Code{
			"/products": app.CodeTokenInvalid, "/auth/login": app.CodeValidationFailed,
		} {
			// Reading a body of 1 MiB into a growing buffer allocates about 5 MiB.
			limit := 8 << 20
			if path == "/auth/login" {
				limit = 50 << 20 // validated, because it needs no credential
			}
			grown := allocated(func() { w.do("POST", path, "", body).refused(want) })
			if grown > limit {
				t.Errorf("%s to %s: got %d bytes allocated, want at most %d", name, path, grown, limit)
			}
		}
	}
}

// Headers and texts that are much longer than an address, an id or an email are not split and not copied.
func TestLongTextsBeforeAuthorization(t *testing.T) {
	s := &Server{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	commas, long := strings.Repeat(",", 64<<10), []byte(`{"email":"`+strings.Repeat("e", maxBody-20)+`"}`)
	for name, f := range map[string]func(){
		"commas of an unknown peer": func() { s.clientAddr(forwardedBy("203.0.113.7:1", commas)) },
		"commas of a proxy":         func() { s.clientAddr(forwardedBy("10.0.0.1:1", commas)) },
		"email":                     func() { topLevelTexts(long, []string{"email"}) },
	} {
		if n := allocated(f); n > 64<<10 {
			t.Errorf("%s: got %d bytes allocated, want at most 64 KiB", name, n)
		}
	}
}

// forwardedBy returns a request of a peer with a header X-Forwarded-For.
func forwardedBy(peer, value string) *http.Request {
	return &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": {value}}}
}

// The CSV reader stops at the first column that it does not know and at a row that is too large.
func TestRowsAreReadNoFurtherThanNeeded(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	all := strings.ReplaceAll(columnNames, ", ", ",")
	row := strings.Repeat("x", maxRowBytes)
	for name, c := range map[string]struct {
		csv  bool
		text string
		path string
		read int // at most
	}{
		"an unknown column":      {true, "sku,price" + strings.Repeat(",", maxRowBytes-100) + "\n", "", 80 * kib},
		"a second name":          {true, "sku,sku\n" + strings.Repeat("x,y\n", kib*kib), "sku", 8 * kib},
		"a twelfth column":       {true, all + ",sku\n" + strings.Repeat("x,y\n", kib*kib), "sku", 8 * kib},
		"an empty column":        {true, "sku,\n" + strings.Repeat("x,y\n", kib*kib), `[""]`, 8 * kib},
		"commas only":            {true, strings.Repeat(",", maxRowsBody), "", 80 * kib},
		"a large row":            {true, "sku,name\nA," + row + row + row, "rows[0]", 80 * kib},
		"a quote that ends late": {true, "sku,name\nA,x\nB,\"" + row + row + row + "\"\n", "rows[1]", 80 * kib},
		"rows with other cells":  {true, "sku\n" + strings.Repeat("a,b\n", kib*kib), "rows[0]", 8 * kib},
		"rows beyond the limit":  {true, "sku\n" + strings.Repeat("a\n", kib*kib), "ok", 8 * kib},
		"a large object":         {false, `[{"sku":"A"},{"sku":"` + row + row + row + `"}]`, "rows[1]", 140 * kib},
		"no array":               {false, `{"rows":"` + row + row + `"}`, "rows", 80 * kib},
		"objects beyond the limit": {
			false, "[" + strings.Repeat(`{},`, kib*kib) + `{}]`, "ok", 80 * kib,
		},
	} {
		body := &counted{Reader: strings.NewReader(c.text)}
		read := jsonRows
		if c.csv {
			read = csvRows
		}
		rows := &rowReader{ctx: t.Context(), body: body}
		_, err := read(rows)
		if len(rows.faults) > 0 && err == nil {
			err = app.InvalidAll(rows.faults)
		}
		details := faultsOf(err)
		switch {
		case c.path == "ok" && err != nil:
			t.Errorf("%s: got error %v, want none", name, err)
		case c.path != "ok" && app.CodeOf(err) != app.CodeValidationFailed:
			t.Errorf("%s: got error %v, want VALIDATION_FAILED", name, err)
		case c.path != "ok" && c.path != "" && (len(details) == 0 || details[0].Path != c.path):
			t.Errorf("%s: got details %v, want the first of %s", name, details, c.path)
		}
		if body.read > c.read {
			t.Errorf("%s: got %d bytes read, want at most %d", name, body.read, c.read)
		}
	}
}

// A row may have as many bytes as the limit, and the largest body of such rows is read.
func TestLargestRows(t *testing.T) {
	t.Parallel()
	cells := "," + strings.Repeat("y", maxRowBytes-3) + "\n"
	var csv bytes.Buffer
	csv.WriteString("sku,name\n")
	for range 100 {
		csv.WriteString("x" + cells)
	}
	if _, err := csvRows(&rowReader{ctx: t.Context(), body: &csv}); err != nil {
		t.Errorf("CSV: got error %v, want none", err)
	}
	value := `{"name":"` + strings.Repeat("y", maxRowBytes-20) + `"}`
	text := "[" + strings.Repeat(value+",", 99) + value + "]"
	if _, err := jsonRows(&rowReader{ctx: t.Context(), body: strings.NewReader(text)}); err != nil {
		t.Errorf("JSON: got error %v, want none", err)
	}
}

// The end of the request ends the reading of rows.
func TestRowsEndWithTheRequest(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*rowReader) ([]byte, error){"CSV": csvRows, "JSON": jsonRows} {
		ctx, cancel := context.WithCancel(t.Context())
		start := map[string]string{"CSV": "sku\n", "JSON": "["}[name]
		rest := strings.NewReader(map[string]string{
			"CSV": strings.Repeat(strings.Repeat("x", 500)+"\n", 1000), "JSON": strings.Repeat(`{"sku":"x"},`, 100_000),
		}[name])
		cancels := readerFunc(func(p []byte) (int, error) {
			cancel()
			return rest.Read(p)
		})
		body := &counted{Reader: io.MultiReader(strings.NewReader(start), cancels)}
		if _, err := read(&rowReader{ctx: ctx, body: body}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got error %v, want that of the context", name, err)
		}
		if body.read > 70<<10 {
			t.Errorf("%s: got %d bytes read after the end, want one buffer", name, body.read)
		}
	}
}

// readerFunc is a function that reads.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A body has a limited number of elements in all its lists together.
func TestElementsOfABody(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("0,", n), ",") + "]" }
	for n, ok := range map[int]bool{maxAllElements - 2: true, maxAllElements - 1: false} {
		// The list has n elements, the outer one 2.
		if err := checkContent([]byte(`{"a":[` + list(n) + `,{}]}`)); (err == nil) != ok {
			t.Errorf("%d elements: got error %v, want none: %t", n+2, err, ok)
		}
	}
}

// faultyProduct returns a body of about 1 MiB. All its faults would take another 50 MB.
func faultyProduct(t *testing.T) string {
	t.Helper()
	var locales []string
	for i := range 25 {
		locales = append(locales, fmt.Sprintf(`"%c%c":{"name":""}`, 'a'+i/5, 'a'+i%5))
	}
	option := `{"name":"","translations":{` + strings.Join(locales, ",") + `}}`
	group := `{"name":"g","options":[` + strings.Repeat(option+",", 99) + option + "]}"
	body := `{"name":"x","priceMinor":1,"currency":"EUR","optionGroups":[` + strings.Repeat(group+",", 17) + group +
		"]}"
	if len(body) > maxBody || len(body) < maxBody*3/4 {
		t.Fatalf("the body has %d bytes, want about %d", len(body), maxBody)
	}
	return body
}

// Validation stops at the last detail of the response.
func TestValidationStopsAtItsLimit(t *testing.T) {
	w := newWorld(t)
	body := faultyProduct(t)
	w.do("POST", "/products", w.tokens["OWNER"], productBody()).ok(201, nil) // fills the caches
	grown := allocated(func() {
		a := w.do("POST", "/products", w.tokens["OWNER"], body).refused(app.CodeValidationFailed)
		if n := len(a.body.Error.Details); n != maxFaults {
			t.Errorf("details: got %d, want %d", n, maxFaults)
		}
	})
	if grown > 30<<20 {
		t.Errorf("got %d bytes allocated, want at most 30 MiB", grown)
	}
}

// A website whose places are taken has no further bodies validated: they wait, then they are refused. Another website
// is served meanwhile.
func TestValidationOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	work, website, body := w.server.work, w.stores["own"].website, faultyProduct(t)
	work.wait = testTimeout
	taken := &places{work: work}
	for range work.requests {
		w.must(taken.begin(t.Context(), gateLimit{gate{"requests", string(website)}, work.requests}))
	}
	const requests = maxOwnBodies/maxBody - 1
	responses := make(chan *response)
	for range requests {
		go func() { responses <- w.do("POST", "/products", w.tokens["OWNER"], body) }()
	}
	w.until("waiting requests", func() bool { return work.waits(website) == requests })
	w.do("POST", "/products", w.tokens["FOREIGN"], productBody()).ok(201, nil)
	w.do("POST", "/products", w.tokens["FOREIGN"], body).refused(app.CodeValidationFailed)
	work.wait = time.Millisecond
	a := w.do("POST", "/products", w.tokens["OWNER"], body).refused(app.CodeUnavailable)
	if after := a.Header().Get("Retry-After"); after != "2" {
		t.Errorf("request beyond the waiting ones: got Retry-After %q, want 2", after)
	}
	taken.leave()
	for range requests {
		if a := (<-responses).refused(app.CodeValidationFailed); len(a.body.Error.Details) != maxFaults {
			t.Errorf("details: got %d, want %d", len(a.body.Error.Details), maxFaults)
		}
	}
	if n := w.server.bodies.inUse(); n != 0 {
		t.Errorf("memory after the requests: got %d, want 0", n)
	}
}
