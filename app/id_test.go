package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 1000 {
		id := string(app.NewID[app.OrderID](now.Add(time.Duration(i) * time.Microsecond)))
		if !strings.HasPrefix(id, "ord_") || len(id) != 36 || !app.IsID(id) || id[16] != '7' {
			t.Fatalf("NewID: %q, want ord_ and a UUIDv7 in hex", id)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) {
		t.Error("ids made one microsecond apart are not sorted")
	}
	for i, at := range []time.Time{now, now.Add(time.Millisecond)} {
		first := string(app.FirstID[app.OrderID](at))
		if after := i == 0; (ids[0] > first) != after || (ids[999] > first) != after {
			t.Errorf("FirstID(%s) = %s does not sort between earlier and later ids", at, first)
		}
	}
	for _, at := range []time.Time{{}, now.AddDate(9999, 0, 0)} {
		if first := app.FirstID[app.OrderID](at); len(first) != 16 || !app.IsID(string(first)) {
			t.Errorf("FirstID(%s) = %q, want 16 characters that are valid in an id", at, first)
		}
	}
	for _, bad := range []string{"", "ord_\x00", "a b", "ord_é", "../x", strings.Repeat("a", 65), "a'b"} {
		if app.IsID(bad) {
			t.Errorf("IsID(%q) = true, want false", bad)
		}
	}
}
