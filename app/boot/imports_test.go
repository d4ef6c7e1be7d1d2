package boot

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/comanda-dev/comanda/"

// imports lists the packages of Comanda that each package may import, and the reason. "all" means every package, ""
// means none.
var imports = map[string]struct{ may, because string }{
	"app":                 {"", "it contains domain types without I/O"},
	"activities":          {"app", "it declares its storage interfaces and contains no SQL"},
	"activities/smtptest": {"", "it is a test kit"},
	"workflows": {
		"app activities", "it uses activities as typed references only and needs no database",
	},
	"persistence": {
		"app persistence/pg persistence/delivery persistence/identity persistence/ordering",
		"it does not depend on Temporal and HTTP",
	},
	"persistence/ordering": {
		"app persistence/pg persistence/delivery persistence/identity", "orders belong to stores and customers",
	},
	"persistence/identity": {
		"app app/otp persistence/pg persistence/delivery", "accounts and stores do not depend on orders",
	},
	"persistence/delivery": {
		"app app/filter persistence/delivery/schedule persistence/pg", "the queue does not depend on other resources",
	},
	"persistence/delivery/schedule": {"app", "it decides without I/O"},
	"persistence/pg":                {"app persistence/migrations", "it contains no resource"},
	"persistence/migrations":        {"", "it contains SQL only"},
	"persistence/localpg":           {"", "it runs any PostgreSQL"},
	"persistence/persistencetest": {
		"app persistence persistence/delivery persistence/identity persistence/pg persistence/localpg",
		"it is a test kit",
	},
	"api": {
		"app app/filter app/otp persistence persistence/identity persistence/ordering api/dashboard",
		"it reaches workflows only through the database",
	},
	"api/dashboard":       {"", "it contains the build of an API client"},
	"api/openapi":         {"app", "it describes operations that it does not know"},
	"api/client/comanda":  {"app/webhook", "it is for other programs, which get few dependencies"},
	"api/client/generate": {"", "it reads the document, not the service"},
	"app/boot":            {"all", "it wires the packages"},
	"app/cmd/comanda": {
		"activities api/client/comanda app app/boot app/listen app/trigger app/webhook",
		"it only calls boot, listen and trigger",
	},
	"app/webhook":  {"", "receivers import it without the rest of Comanda"},
	"app/filter":   {"", "it evaluates expressions without I/O"},
	"app/otp":      {"app", "it computes codes with a library, and app depends on none"},
	"app/freeport": {"", "tests of all packages use it"},
	"app/listen":   {"api/client/comanda app/webhook", "it is a receiver and a client like any other"},
	"app/trigger":  {"api/client/comanda", "it is a client of the API like any other"},
	"docs":         {"", "it tests the documents"},
}

// foreign lists prefixes of import paths that a package must not depend on, directly or indirectly.
var foreign = map[string]string{
	"persistence":                   "go.temporal.io net/http/httptest github.com/gorilla",
	"persistence/delivery":          "go.temporal.io net/http/httptest github.com/gorilla",
	"persistence/delivery/schedule": "database/sql net/http github.com go.temporal.io golang.org",
	"persistence/pg":                "go.temporal.io net/http/httptest github.com/gorilla",
	"api":                           "go.temporal.io",
	"activities":                    "github.com/uptrace github.com/jackc go.temporal.io",
	"workflows":                     "github.com/uptrace github.com/jackc",
	"api/client/comanda":            "github.com go.temporal.io go.opentelemetry.io go.yaml.in golang.org code.dny.dev",
	"app/webhook":                   "github.com go.temporal.io golang.org code.dny.dev",
	"app":                           "github.com go.temporal.io golang.org code.dny.dev",
}

// TestImports compares the packages of the module with the tables. The production program contains neither the Temporal
// server nor a PostgreSQL server.
func TestImports(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-f",
		`{{.ImportPath}};{{join .Imports " "}};{{join .Deps " "}}`, "./...")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSpace(line), ";")
		pkg := strings.TrimPrefix(fields[0], module)
		seen[pkg] = true
		row, ok := imports[pkg]
		if !ok {
			t.Errorf("package %s is missing in the table of imports", pkg)
		}
		for _, imported := range strings.Fields(fields[1]) {
			ours, ok := strings.CutPrefix(imported, module)
			if ok && row.may != "all" && !slices.Contains(strings.Fields(row.may), ours) {
				t.Errorf("%s imports %s, want only %q, because %s", pkg, ours, row.may, row.because)
			}
		}
		prefixes := append(strings.Fields(foreign[pkg]), "go.temporal.io/server")
		if pkg == "app/cmd/comanda" {
			prefixes = append(prefixes, "github.com/fergusstrange/embedded-postgres")
		}
		for _, dep := range strings.Fields(fields[2]) {
			for _, prefix := range prefixes {
				if strings.HasPrefix(dep, prefix) && !strings.HasPrefix(dep+"/", module) {
					t.Errorf("%s depends on %s, want no dependency on %s", pkg, dep, prefix)
				}
			}
		}
	}
	for _, pkg := range slices.Concat(slices.Collect(maps.Keys(imports)), slices.Collect(maps.Keys(foreign))) {
		if !seen[pkg] {
			t.Errorf("the tables have package %s, which does not exist", pkg)
		}
	}
}
