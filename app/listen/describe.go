package listen

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/comanda-dev/comanda/app/webhook"
)

// shown lists the members of an event's data that are printed, in this order.
var shown = [...]string{
	"orderId", "name", "email", "status", "partySize", "startAt", "totalMinor", "amountMinor", "priceMinor", "currency",
	"reason",
}

// describe formats an event as one line with its type, its id and some members of its data.
func describe(event webhook.Event) string {
	var data map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(event.Data)))
	decoder.UseNumber()
	_ = decoder.Decode(&data) // data that is not an object has no members
	line := fmt.Sprintf("%-22s %s", printable(string(event.Type)), printable(event.ID))
	for _, name := range shown {
		switch value := data[name].(type) {
		case string, json.Number:
			if text := printable(fmt.Sprint(value)); text != "" {
				line += "  " + name + "=" + text
			}
		}
	}
	return line
}

// printable removes control characters from untrusted text, so that it cannot control the terminal, and truncates it to
// 60 characters.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:59]) + "…"
	}
	return text
}
