package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile("`(Test\\w+)`")

// Each shared resource of docs/security-controls.md names its bound and existing tests.
func TestSharedResources(t *testing.T) {
	t.Parallel()
	defined := map[string]bool{}
	definition := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range texts(t, "_test.go") {
		for _, match := range definition.FindAllStringSubmatch(read(t, file), -1) {
			defined[match[1]] = true
		}
	}
	_, table, _ := strings.Cut(read(t, "docs/security-controls.md"), "\n| resource | bound | test |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 15 {
		t.Errorf("%d resources found, want more", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if len(cells) != 3 {
			t.Errorf("got %d cells, want 3: %s", len(cells), row)
			continue
		}
		resource, tests := strings.TrimSpace(cells[0]), testName.FindAllStringSubmatch(cells[2], -1)
		if strings.TrimSpace(cells[1]) == "" || len(tests) == 0 {
			t.Errorf("%s: no bound or no test", resource)
		}
		for _, name := range tests {
			if !defined[name[1]] {
				t.Errorf("%s: no test %s", resource, name[1])
			}
		}
	}
}
