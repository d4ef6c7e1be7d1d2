package delivery

import (
	"encoding/json"
	"strings"
)

// jsonOrNil encodes headers; none at all is null. A stranger wrote them, and PostgreSQL
// cannot keep a NUL.
func jsonOrNil(headers map[string][]string) *string {
	if headers == nil {
		return nil
	}
	kept := make(map[string][]string, len(headers))
	for name, values := range headers {
		name = strings.ReplaceAll(name, "\x00", "")
		for _, value := range values {
			kept[name] = append(kept[name], strings.ReplaceAll(value, "\x00", ""))
		}
	}
	encoded, _ := json.Marshal(kept) // never fails for strings
	text := string(encoded)
	return &text
}
