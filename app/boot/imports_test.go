package boot

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/comanda-dev/comanda/"

// imports is the table of the design: which of our packages each may import. "all" is
// everything, "" nothing.
var imports = map[string]struct{ may, because string }{
	"app":                         {"", "it is the vocabulary"},
	"activities":                  {"app", "it declares what it needs of a store, and never sees SQL"},
	"activities/smtptest":         {"", "it is a kit for tests"},
	"workflows":                   {"app activities", "activities for typed references only; decisions need no database"},
	"persistence":                 {"app persistence/pg persistence/delivery", "it knows neither Temporal nor HTTP"},
	"persistence/delivery":        {"app persistence/pg", "the queue knows no resource of the restaurant"},
	"persistence/pg":              {"app persistence/migrations", "no resource owns it"},
	"persistence/migrations":      {"", "it is SQL"},
	"persistence/localpg":         {"persistence/localpg/dirlock persistence/localpg/former", "it runs PostgreSQL, whatever is in it"},
	"persistence/localpg/dirlock": {"persistence/localpg/former", "it locks a directory"},
	"persistence/localpg/former":  {"", "it waits for processes to end"},
	"persistence/persistencetest": {"app persistence persistence/pg persistence/localpg", "it is a kit for tests"},
	"api":                         {"app persistence api/dashboard", "it reaches workflows through the database alone, and never sees Temporal"},
	"api/dashboard":               {"", "it is a client of the API, built"},
	"app/boot":                    {"all", "it wires"},
	"app/cmd/comanda":             {"app app/boot app/listen app/webhook", "it only calls boot and listen"},
	"app/webhook":                 {"", "receivers import it and nothing else of ours"},
	"app/listen":                  {"app/webhook", "it is a receiver like any other"},
}

// foreign lists what a package must not reach, directly or through others.
var foreign = map[string]string{
	"persistence":          "go.temporal.io net/http/httptest github.com/gorilla",
	"persistence/delivery": "go.temporal.io net/http/httptest github.com/gorilla",
	"persistence/pg":       "go.temporal.io net/http/httptest github.com/gorilla",
	"api":                  "go.temporal.io",
	"activities":           "github.com/uptrace github.com/jackc go.temporal.io",
	"workflows":            "github.com/uptrace github.com/jackc",
	"app/webhook":          "github.com go.temporal.io golang.org code.dny.dev",
	"app":                  "github.com go.temporal.io golang.org code.dny.dev",
}

func TestImports(t *testing.T) {
	t.Parallel()
	for _, line := range goList(t, "-f", "{{.ImportPath}} {{join .Imports \" \"}}", module+"...") {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], module)
		if strings.HasPrefix(pkg, "app/dev") {
			continue // another module
		}
		row, ok := imports[pkg]
		if !ok {
			t.Errorf("the package %s has no row in the table of imports", pkg)
		}
		for _, imported := range fields[1:] {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && row.may != "all" && !slices.Contains(strings.Fields(row.may), ours) {
				t.Errorf("%s imports %s, but %s", pkg, ours, row.because)
			}
		}
	}
	for pkg, prefixes := range foreign {
		for _, dep := range goList(t, "-deps", module+pkg) {
			for _, prefix := range strings.Fields(prefixes) {
				if strings.HasPrefix(dep, prefix) && !strings.HasPrefix(dep+"/", module) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
}

// The production program must not contain the Temporal server.
func TestProductionDoesNotReachTheServer(t *testing.T) {
	t.Parallel()
	for pkg := range imports {
		for _, dep := range goList(t, "-deps", module+pkg) {
			if strings.HasPrefix(dep, "go.temporal.io/server") || strings.Contains(dep, "embedded-postgres") && pkg == "app/cmd/comanda" {
				t.Errorf("%s reaches %s", pkg, dep)
			}
		}
	}
}

func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
