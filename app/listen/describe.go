package listen

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/comanda-dev/comanda/app/webhook"
)

// shown are the members of an event's data that its line has room for, in this order.
var shown = [...]string{
	"orderId", "name", "email", "status", "partySize", "startAt", "totalMinor", "amountMinor", "priceMinor", "currency",
	"reason",
}

// describe renders an event on one line: its type, its id and the shortest telling members of its data.
func describe(event webhook.Event) string {
	var data map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(event.Data)))
	decoder.UseNumber()
	_ = decoder.Decode(&data) // data that is no object has no members
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

// printable keeps a stranger's text from steering the terminal, and short.
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
