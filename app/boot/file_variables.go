package boot

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// fileSuffix is the suffix of a variable that names a file with the value of another variable.
const fileSuffix = "_FILE"

// fileVariables are the variables with a secret. The variable of the same name with fileSuffix can replace each of
// them, because files are better protected than environments.
var fileVariables = [...]string{
	"DATABASE_URL", "COMANDA_SYSTEM_DATABASE_URL", "COMANDA_SECRET_KEYS", "COMANDA_SMTP_URL", "COMANDA_API_KEY",
}

// ReadFiles returns an environment in which the values of files replace the variables that name the files. The error
// lists all faults, one per line, as "VARIABLE: fault".
func ReadFiles(environ map[string]string) (map[string]string, error) {
	environ, faults := readFiles(environ)
	var all []error
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		all = append(all, faults[name])
	}
	return environ, errors.Join(all...)
}

// readFiles is [ReadFiles] with the faults by the names of the replaced variables.
func readFiles(environ map[string]string) (map[string]string, map[string]error) {
	environ = maps.Clone(environ)
	faults := map[string]error{}
	for _, name := range fileVariables {
		file := environ[name+fileSuffix]
		delete(environ, name+fileSuffix)
		if file == "" {
			continue
		}
		if environ[name] != "" {
			faults[name] = fmt.Errorf("%s, %s: set one of them, not both", name, name+fileSuffix)
			continue
		}
		value, err := readValue(file)
		if err != nil {
			faults[name] = fmt.Errorf("%s: %w", name+fileSuffix, err)
			continue
		}
		environ[name] = value
	}
	return environ, faults
}

// readValue returns the content of a file without the line break at its end.
func readValue(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	value := strings.TrimRight(string(content), "\r\n")
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty", file)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", fmt.Errorf("%s must contain a single line of text", file)
	}
	return value, nil
}
