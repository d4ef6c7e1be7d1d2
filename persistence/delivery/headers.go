package delivery

import (
	"encoding/json"
	"strings"
)

// jsonOrNil encodes headers as JSON; nil becomes null. A header without values keeps its name: its value is secret. It
// drops NUL characters, which PostgreSQL cannot store. They occur because receivers control the headers of their
// responses.
func jsonOrNil(headers map[string][]string) *string {
	if headers == nil {
		return nil
	}
	kept := make(map[string][]string, len(headers))
	for name, values := range headers {
		name = strings.ReplaceAll(name, "\x00", "")
		if kept[name] == nil {
			kept[name] = []string{}
		}
		for _, value := range values {
			kept[name] = append(kept[name], strings.ReplaceAll(value, "\x00", ""))
		}
	}
	encoded, _ := json.Marshal(kept) // never fails for strings
	text := string(encoded)
	return &text
}
