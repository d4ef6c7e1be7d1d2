package filter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app/filter"
)

// schemas are those of an order, of a payment, whose member reference has another type, and of a list.
var schemas = []json.RawMessage{
	json.RawMessage(`{"properties": {"data": {"type": "object", "properties": {
		"id": {"type": "string"}, "totalMinor": {"type": "integer"}, "rating": {"type": "number"},
		"requestedFor": {"type": ["null", "string"]}, "reference": {"type": "string"},
		"note": {"type": "string", "maxLength": 100000},
		"deliveryAddress": {"type": "object", "properties": {"city": {"type": "string"}}},
		"metadata": {"type": "object", "additionalProperties": {"type": "string"}},
		"tags": {"type": ["array", "null"], "items": {"type": "string"}},
		"items": {"type": "array", "items": {"type": "object", "properties": {
			"sku": {"type": "string"}, "quantity": {"type": "integer"},
			"options": {"type": "array", "items": {"type": "object", "properties": {
				"name": {"type": "string"}}}}}}}}}}}`),
	json.RawMessage(`{"properties": {"data": {"type": "object", "properties": {
		"id": {"type": "string"}, "amountMinor": {"type": "integer"}, "reference": {"type": "integer"}}}}}`),
}

func newChecker(t testing.TB) *filter.Checker {
	t.Helper()
	checker, err := filter.NewChecker(schemas...)
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

const order = `{"id": "evt_1", "type": "order.created", "data": {"id": "ord_1", "totalMinor": 5000, "rating": 4.5,
	"requestedFor": null, "reference": "A-17", "metadata": {"campaign": "spring"},
	"items": [{"sku": "PIZZA-1", "quantity": 2, "options": []}, {"sku": "COLA", "quantity": 1, "options": [
		{"name": "ice"}]}]}}`

func data(t testing.TB, body string) any {
	t.Helper()
	decoded, err := filter.Data([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}

func compile(t testing.TB, expression string) *filter.Filter {
	t.Helper()
	compiled, err := filter.Compile(expression)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestMatches(t *testing.T) {
	t.Parallel()
	checker, event := newChecker(t), data(t, order)
	for expression, want := range map[string]bool{
		`true`:                     true,
		`type == "order.created"`:  true,
		`type.startsWith("order")`: true,
		`data.totalMinor >= 5000`:  true,
		`data.totalMinor > 5000`:   false,
		// Whole numbers of JSON compare with both kinds of numbers.
		`data.totalMinor > 4999.5`:                                   true,
		`data.totalMinor <= 5000.0`:                                  true,
		`double(data.totalMinor) == 5000.0`:                          true,
		`double(data.totalMinor) / 100.0 < 50.5`:                     true,
		`data.rating > 4`:                                            true,
		`data.rating == 4.5`:                                         true,
		`data.requestedFor == null`:                                  true,
		`data.requestedFor != "2026-03-14T12:00:00.000Z"`:            true,
		`has(data.deliveryAddress)`:                                  false,
		`has(data.amountMinor) && data.amountMinor > 1`:              false,
		`data.reference == "A-17"`:                                   true,
		`data.reference == 17`:                                       false,
		`data.metadata.campaign == "spring"`:                         true,
		`"other" in data.metadata`:                                   false,
		`data.metadata["campaign"] in ["spring", "summer"]`:          true,
		`data.items.exists(i, i.sku.startsWith("PIZZA"))`:            true,
		`data.items.all(i, i.quantity > 1)`:                          false,
		`data.items.exists(i, i.options.exists(o, o.name == "ice"))`: true,
		`size(data.items) > 2`:                                       false,
		`data.items[1].quantity == 1`:                                true,
		`data.id.matches("^ord_[0-9]+$")`:                            true,
		`data.id.contains("_") ? data.totalMinor % 2 == 0 : false`:   true,
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			if err := checker.Check(expression); err != nil {
				t.Fatal(err)
			}
			got, cost, err := compile(t, expression).Matches(t.Context(), "order.created", event)
			if got != want || err != nil || cost == 0 {
				t.Errorf("got %v, cost %d, %v, want %v", got, cost, err, want)
			}
		})
	}
}

// An event for which the evaluation fails matches.
func TestFailedEvaluations(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	for expression, want := range map[string]string{
		`data.deliveryAddress.city == "Berlin"`:     "no such key: deliveryAddress",
		`data.amountMinor > 1`:                      "no such key: amountMinor",
		`data.totalMinor / 0 == 1`:                  "division by zero",
		`data.items[2].quantity == 1`:               "index out of bounds",
		`data.reference > 1`:                        "no such overload",
		`data.totalMinor * 9223372036854775807 > 1`: "integer overflow",
		`data.metadata.source == "app"`:             "no such key: source",
		// Values of the event are not part of messages.
		`int(data.reference + "") > 1`:    "type conversion error",
		`data.metadata[data.id] == "app"`: "no such key",
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			if err := checker.Check(expression); err != nil {
				t.Fatal(err)
			}
			got, cost, err := compile(t, expression).Matches(t.Context(), "order.created", data(t, order))
			if !got || cost == 0 || err == nil || err.Error() != want {
				t.Errorf("got %v, cost %d, %v, want true, %s", got, cost, err, want)
			}
		})
	}
}

func TestRejectedExpressions(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	for expression, want := range map[string]string{
		``:                                               "line 1, column 1: Syntax error",
		"true &&\n  data.total > 1":                      "line 2, column 7: undefined field 'total'",
		`data.items.exists(i, i.price > 1)`:              "line 1, column 23: undefined field 'price'",
		`order.total > 1`:                                "line 1, column 1: undeclared reference to 'order'",
		`data.totalMinor`:                                "line 1, column 1: the result is int, not a boolean",
		`data.totalMinor == "5000"`:                      "line 1, column 17: found no matching overload for '_==_'",
		`data.reference`:                                 "line 1, column 1: the result is dyn, not a boolean",
		`data.totalMinor >`:                              "line 1, column 18: Syntax error",
		`data.id.matches(data.reference)`:                "line 1, column 21: the pattern of matches must be a literal",
		`data.id.matches("(")`:                           "line 1, column 17: error parsing regexp: missing closing )",
		`data.id.matches("(a{30}){30}")`:                 "the regular expression is too large",
		`now() > 1`:                                      "undeclared reference to 'now'",
		`timestamp(data.id) > timestamp("x")`:            "undeclared reference to 'timestamp'",
		`data.items.map(i, i.sku) == ["a"]`:              "undeclared reference to",
		`data.items.filter(i, true).size() > 1`:          "undeclared reference to",
		`"` + strings.Repeat("a", 1000) + `" == data.id`: "expression code point size exceeds limit",
		strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100):      "expression recursion limit exceeded",
		strings.Repeat("[", 100) + "1" + strings.Repeat("]", 100) + "==1": "expression recursion limit exceeded",
		strings.Repeat("!", 500) + "true":                                 "",
		// Costs for the largest event.
		nested(3):                 "the expression is too costly",
		`data.note.matches("a+")`: "",
		`data.items.all(i, data.note.matches("a+"))`:   "the expression is too costly",
		`data.items.all(i, data.items != [i])`:         "",
		`data.items.all(i, data.items == data.items)`:  "the expression is too costly",
		`data.items.all(i, i.sku in [data.note, "a"])`: "",
	} {
		t.Run(expression[:min(len(expression), 50)], func(t *testing.T) {
			t.Parallel()
			err := checker.Check(expression)
			if want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			var rejected *filter.Error
			if !errors.As(err, &rejected) || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// nested returns an expression with nested loops over the items.
func nested(depth int) string {
	expression := "i1.quantity == 0"
	for i := depth; i > 0; i-- {
		expression = fmt.Sprintf("!data.items.exists(i%d, %s)", i, expression)
	}
	return expression
}

// The limit also ends evaluations whose cost was not estimated correctly, for example because an event is larger than
// its schema says.
func TestCostLimit(t *testing.T) {
	t.Parallel()
	items := strings.Repeat(`{"sku": "A", "quantity": 1, "options": [{"name": "`+strings.Repeat("x", 200)+`"}]},`, 3000)
	event := data(t, `{"data": {"id": "`+strings.Repeat("a", 500_000)+`", "items": [`+
		strings.TrimSuffix(items, ",")+`]}}`)
	for _, expression := range []string{
		nested(6),
		`data.items.all(i, data == data)`,
		`data.items.all(i, data in [data, data])`,
		`data.items.all(i, !data.id.matches("(b|a)*c"))`,
		`data.items.all(i, data.id + data.id != "")`,
		`data.items.all(i, data.id.contains(data.id))`,
		`data.items.all(i, data.id < data.id + "a" && size(data.id) > 0)`,
		`data.items.all(i, data.items + [data] != [data] + data.items)`,
	} {
		t.Run(expression, func(t *testing.T) {
			t.Parallel()
			got, cost, err := compile(t, expression).Matches(t.Context(), "order.created", event)
			// On a slow machine, the limit of time ends the evaluation.
			if !got || cost != filter.MaxCost || err == nil ||
				!strings.Contains(err.Error(), "exceeds 1000000 units") &&
					!strings.Contains(err.Error(), "takes too long") {
				t.Errorf("got %v, cost %d, %v, want true after %d units", got, cost, err, filter.MaxCost)
			}
		})
	}
}

// An event matches if its evaluation is interrupted, even if the expression hides the interruption.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	event := data(t, `{"data": {"items": [`+strings.Repeat(`{"quantity": 1},`, 999)+`{"quantity": 0}]}}`)
	for _, expression := range []string{nested(2), "!(" + nested(1) + ")", "!data.items.exists(i, " + nested(1) + ")"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, cost, err := compile(t, expression).Matches(ctx, "order.created", event)
		if !got || cost != filter.MaxCost || err == nil || !strings.Contains(err.Error(), "takes too long") {
			t.Errorf("%s: got %v, cost %d, %v, want true because it takes too long", expression, got, cost, err)
		}
	}
}

// Compiling ends also for expressions that are made to be slow.
func FuzzCheck(f *testing.F) {
	checker := newChecker(f)
	for _, expression := range []string{
		nested(8), strings.Repeat("a.", 499) + "a", strings.Repeat("-", 999) + "1", strings.Repeat("{1:", 333),
		strings.Repeat("a?b:", 200) + "c", strings.Repeat("a(", 500), `"` + strings.Repeat(`\u0041`, 160) + `"`,
		strings.Repeat("[1].all(x,", 90), `data.id.matches("` + strings.Repeat("(a?){9}", 100) + `")`, "1 = 2", "\x00",
		"a" + strings.Repeat("||a", 300), strings.Repeat("has(data.", 90), "1e999 == 1.0", "r'''", "b'a' == b'a'",
	} {
		f.Add(expression)
	}
	event := data(f, order)
	f.Fuzz(func(t *testing.T, expression string) {
		if checker.Check(expression) != nil {
			return
		}
		compiled, err := filter.Compile(expression)
		if err != nil {
			t.Fatalf("%q passes the check, but: %v", expression, err)
		}
		compiled.Matches(t.Context(), "order.created", event)
	})
}

func TestDataOfABrokenBody(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "[]", `{"id": "evt_1"}`} {
		if _, err := filter.Data([]byte(body)); err == nil {
			t.Errorf("data of %q: got no error", body)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	for name, expression := range map[string]string{
		"comparison": `data.totalMinor >= 5000 && data.reference == "A-17"`,
		"loop":       `data.items.exists(i, i.sku.startsWith("X"))`,
		"costly":     nested(2),
	} {
		b.Run(name, func(b *testing.B) {
			body := order
			if name == "costly" {
				body = `{"data": {"items": [{"quantity": 1}` + strings.Repeat(`,{"quantity": 1}`, 400) + `]}}`
			}
			compiled, event := compile(b, expression), data(b, body)
			units := uint64(0)
			for b.Loop() {
				_, cost, _ := compiled.Matches(b.Context(), "order.created", event)
				units += cost
			}
			b.ReportMetric(float64(units)/float64(b.N), "units/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(units), "ns/unit")
		})
	}
}

func BenchmarkData(b *testing.B) {
	for b.Loop() {
		data(b, order)
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		compile(b, `data.totalMinor >= 5000 && data.items.exists(i, i.sku.startsWith("X"))`)
	}
}

func BenchmarkCheck(b *testing.B) {
	checker := newChecker(b)
	for b.Loop() {
		_ = checker.Check(nested(8))
	}
}
