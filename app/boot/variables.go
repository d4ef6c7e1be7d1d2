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

// variablePrefix is the prefix of Comanda's own variables.
const variablePrefix = "COMANDA_"

// otherVariables lists the known variables that are not part of Config.
var otherVariables = [...]string{
	"COMANDA_WEBHOOK_SECRET",    // of comanda listen
	"COMANDA_API_KEY",           // of comanda listen and comanda trigger
	"COMANDA_TEST_DATABASE_URL", // of the tests

	// Of docker-compose.yml:
	"COMANDA_SERVE_PASSWORD", "COMANDA_SERVE_SYSTEM_PASSWORD", "COMANDA_WORKER_PASSWORD",
	"COMANDA_WORKER_SYSTEM_PASSWORD", "COMANDA_OWNER_PASSWORD", "COMANDA_IMAGE",
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
	for _, name := range fileVariables {
		known = append(known, name+fileSuffix)
	}
	for _, field := range fields {
		if strings.HasPrefix(field.Key, variablePrefix) {
			known = append(known, field.Key)
		}
	}
	slices.Sort(known)
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(environ)) {
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) ||
			kubernetesVariable.MatchString(name) {
			continue
		}
		faults = append(faults,
			fmt.Errorf("%s: unknown variable; the nearest known name is %s", name, nearest(name, known)))
	}
	return errors.Join(faults...)
}

// nearest returns the first name in names with the smallest edit distance to name.
func nearest(name string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance returns the Levenshtein distance of a and b: the number of bytes to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the processed prefix of a to each prefix of b
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
