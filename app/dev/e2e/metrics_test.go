package e2e

import (
	"bufio"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// metric returns the sum of a metric over all its labels, as a process serves it.
func metric(t *testing.T, admin, name string) int {
	t.Helper()
	response, err := http.Get(admin + "/metrics")
	must(t, err)
	defer response.Body.Close()
	var sum float64
	found := false
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		labelled, number, _ := strings.Cut(lines.Text(), " ")
		if got, _, _ := strings.Cut(labelled, "{"); got != name {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		must(t, err)
		sum, found = sum+value, true
	}
	if !found {
		t.Fatalf("metrics of %s: got no %s, want one", admin, name)
	}
	return int(sum)
}
