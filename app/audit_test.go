package app

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/audit.md describes each action in exactly one row.
func TestAuditActionsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []AuditAction
	for line := range strings.Lines(string(page)) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, match := range regexp.MustCompile("`([a-z_.]+)`").FindAllStringSubmatch(names, -1) {
			if strings.HasPrefix(line, "| `") {
				got = append(got, AuditAction(match[1]))
			}
		}
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(AuditActions[:]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/audit.md: actions (-want +got): %s", diff)
	}
}
