package api

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const textsAt = "api/openapi/texts"

// Each member and operation has its text in exactly one place, and the files have no others.
func TestOpenAPITextsAreComplete(t *testing.T) {
	t.Parallel()
	if _, err := document(); err != nil {
		t.Fatal(err)
	}
	for _, member := range clientTexts().Missing() {
		structure, name, _ := strings.Cut(member, ".")
		t.Errorf("%s: got no text; add %q below %q to the file of its resource in %s or, if it means the same everywhere, "+
			"to members in shared.yaml", member, name, structure, textsAt)
	}
	for _, rt := range routes() {
		if clientTexts().Operation(rt.Handler.id).Summary == "" {
			t.Errorf("%s: got no summary; add %q to operations in the file of its resource in %s", rt.Handler.id,
				rt.Handler.id, textsAt)
		}
	}
	for _, row := range eventRows() {
		if clientTexts().Event(string(row.name)) == "" {
			t.Errorf("%s: got no text; add one to events in %s/events.yaml", row.name, textsAt)
		}
	}
	for _, place := range clientTexts().Unused() {
		t.Errorf("%s in %s: nothing has this text; remove it", place, textsAt)
	}
}

// The schemas of requests and envelopes need no text: the operation describes them.
func TestOpenAPISchemasAreDescribed(t *testing.T) {
	t.Parallel()
	goType := regexp.MustCompile(`^[A-Z][a-z]*[A-Z]\w*\s`)
	for name, schema := range readDocument(t).schemas {
		text, _ := schema.(map[string]any)["description"].(string)
		plain := strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Response") || name == "Failure"
		article := slices.Contains([]string{"A", "An", "The"}, strings.SplitN(text, " ", 2)[0])
		switch {
		case text == "" && plain:
		case text == "":
			t.Errorf("schema %s: got no description; add $text to its Go type in %s", name, textsAt)
		case strings.HasSuffix(name, "Event") && name != "Event":
		case !article || goType.MatchString(text) || !strings.HasSuffix(text, "."):
			t.Errorf("schema %s: got %q, want a noun phrase that begins with an article and ends with a full stop", name, text)
		}
	}
}
