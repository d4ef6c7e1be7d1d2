package openapi

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestMembersOfTexts(t *testing.T) {
	t.Parallel()
	var of TypeText
	text := "{$schema: Meal, $text: A meal., name: The name., price: {text: The price., example: 7}}"
	if err := yaml.Unmarshal([]byte(text), &of); err != nil {
		t.Fatal(err)
	}
	if of.Schema != "Meal" || of.Text != "A meal." || len(of.Members) != 2 || of.Members["name"].Text != "The name." ||
		of.Members["price"] != (Member{"The price.", 7}) {
		t.Errorf("got %+v, want the schema Meal with a name and a price", of)
	}
}

func TestMistakesInTexts(t *testing.T) {
	t.Parallel()
	var m Member
	typo := yaml.Unmarshal([]byte("{text: The name., exampel: Ada}"), &m)
	twice := add(map[string]string{"a": "1"}, map[string]string{"a": "2"})
	unknown := (&Texts{Members: map[string]Member{"a": {Text: "Is ${b}."}}, used: map[string]bool{}}).expand()
	for want, err := range map[string]error{
		`"exampel" is neither text nor example`: typo, "a is in two files": twice, "${b} is not a phrase": unknown,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one that contains %q", err, want)
		}
	}
}
