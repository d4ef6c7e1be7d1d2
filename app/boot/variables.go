package boot

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// variablePrefix begins the names of Comanda's own variables.
const variablePrefix = "COMANDA_"

// otherVariables are not part of Config, but may be in its environment.
var otherVariables = [...]string{
	"COMANDA_WEBHOOK_SECRET",                        // of comanda listen
	"COMANDA_TEST_DATABASE_URL",                     // of the tests
	"COMANDA_DB_PASSWORD", "COMANDA_OWNER_PASSWORD", // of docker-compose.yml
}

// kubernetesVariable matches the variables that Kubernetes sets in every container of a namespace that has a service
// named comanda or comanda-….
var kubernetesVariable = regexp.MustCompile(
	`^COMANDA(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?)$`)

// CheckVariables returns an error with one line for each unknown variable of an environment that begins with COMANDA_.
func CheckVariables(environ map[string]string) error {
	fields, err := env.GetFieldParams(&Config{})
	if err != nil {
		return err
	}
	known := slices.Clone(otherVariables[:])
	for _, field := range fields {
		if strings.HasPrefix(field.Key, variablePrefix) {
			known = append(known, field.Key)
		}
	}
	slices.Sort(known)
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if strings.HasPrefix(name, variablePrefix) && !slices.Contains(known, name) && !kubernetesVariable.MatchString(name) {
			faults = append(faults, fmt.Errorf("%s: unknown variable; the nearest known name is %s", name, nearest(name, known)))
		}
	}
	return errors.Join(faults...)
}

// nearest returns the first of the names with the least edit distance to a name.
func nearest(name string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance returns the Levenshtein distance: the number of bytes to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances from the part of a read so far to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(row[j]+1, row[j+1]+1, replaced)
		}
	}
	return row[len(b)]
}
