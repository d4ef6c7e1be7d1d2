package api

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// Clients, users and readers of the documentation see only these files, so their texts must be understandable without
// any other document.
func TestTextsForClientsCiteNoOtherDocument(t *testing.T) {
	t.Parallel()
	cited := regexp.MustCompile(`§|(?i)\bcontract\b|\bspec\b`)
	for _, root := range []string{
		"openapi.yaml", "eventtypes.json", "docs.html", "docs.js", "account", "client/comanda", "client/typescript/src",
		"client/typescript/README.md", "dashboard/index.html", "dashboard/src", "../app/cmd",
	} {
		files := 0
		must(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			if found := cited.FindIndex(text); found != nil {
				at := text[max(0, found[0]-60):min(len(text), found[1]+20)]
				t.Errorf("%s cites another document; state the rule itself: …%s…", path, at)
			}
			return err
		}))
		if files == 0 {
			t.Errorf("%s: got no files", root)
		}
	}
	for _, message := range messages {
		if cited.MatchString(message) {
			t.Errorf("the message %q cites another document", message)
		}
	}
}
