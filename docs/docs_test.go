// Package docs_test checks the documents of the repository.
package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the directory of the repository.
var root = os.DirFS("..")

// texts returns the paths of the files of the repository with one of the suffixes.
func texts(t *testing.T, suffixes ...string) []string {
	t.Helper()
	skipped := []string{".git", ".dev", "node_modules", "dist", "bin", "certs"}
	var found []string
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains(skipped, entry.Name()) {
			return fs.SkipDir
		}
		matches := func(suffix string) bool { return strings.HasSuffix(file, suffix) }
		if err == nil && entry.Type().IsRegular() && slices.ContainsFunc(suffixes, matches) {
			found = append(found, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := fs.ReadFile(root, file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	target     = regexp.MustCompile(`\]\(([^)\s]+)\)`) // of a link or an image
	linkText   = regexp.MustCompile(`!?\[([^]]*)\]\([^)]*\)`)
	noAnchor   = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
	reference  = regexp.MustCompile(`\bdocs/[\w/-]+\.md(#[\w-]+)?`)
)

// anchors returns the anchors that GitHub gives to the headings of a document.
func anchors(document string) map[string]bool {
	found, n := map[string]bool{}, map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		text := noAnchor.ReplaceAllString(strings.ToLower(linkText.ReplaceAllString(match[1], "$1")), "")
		anchor := strings.ReplaceAll(text, " ", "-")
		if n[anchor]++; n[anchor] > 1 {
			anchor += "-" + strconv.Itoa(n[anchor]-1)
		}
		found[anchor] = true
	}
	return found
}

// check fails the test unless a link of a file leads to an existing file and, for a document, to a heading.
func check(t *testing.T, from, to string) {
	t.Helper()
	file, anchor, _ := strings.Cut(to, "#")
	if _, err := fs.Stat(root, file); err != nil {
		t.Errorf("%s: no file %s", from, file)
	} else if anchor != "" && !anchors(read(t, file))[anchor] {
		t.Errorf("%s: no heading %s", from, to)
	}
}

// The relative links of all documents lead to existing files and headings.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, file := range texts(t, ".md") {
		text := inlineCode.ReplaceAllString(fence.ReplaceAllString(read(t, file), ""), "")
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			switch to := match[1]; {
			case strings.Contains(to, ":"): // another site
			case strings.HasPrefix(to, "#"):
				check(t, file, file+to)
			default:
				check(t, file, path.Join(path.Dir(file), to))
			}
		}
	}
}

// A document links each picture of docs.
func TestPictures(t *testing.T) {
	t.Parallel()
	linked := map[string]bool{}
	for _, file := range texts(t, ".md") {
		for _, match := range target.FindAllStringSubmatch(read(t, file), -1) {
			linked[path.Join(path.Dir(file), match[1])] = true
		}
	}
	for _, file := range texts(t, ".png") {
		if strings.HasPrefix(file, "docs/") && !linked[file] {
			t.Errorf("no document links %s", file)
		}
	}
}

// Comments and texts outside of documents name existing documents and headings.
func TestReferences(t *testing.T) {
	t.Parallel()
	found := 0
	for _, file := range texts(t, ".go", ".sql", ".ts", ".tsx", ".mjs", ".yml", ".yaml", "Dockerfile", ".sh") {
		for _, to := range reference.FindAllString(read(t, file), -1) {
			check(t, file, to)
			found++
		}
	}
	if found < 50 {
		t.Errorf("%d references found, want more", found)
	}
}

// README is short, and its program is a part of a tested one.
func TestReadme(t *testing.T) {
	t.Parallel()
	const most = 1200
	readme := read(t, "README.md")
	if words := len(strings.Fields(readme)); words > most {
		t.Errorf("README.md has %d words, want at most %d", words, most)
	}
	_, program, _ := strings.Cut(readme, "\n```ts\n")
	program, _, ok := strings.Cut(program, "\n```\n")
	if !ok || !strings.Contains(read(t, "docs/integrate.md"), "\n"+program+"\n") {
		t.Errorf("docs/integrate.md lacks the program of README.md:\n%s", program)
	}
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	got := anchors("# One, `two` and [three](x.md)\n```sh\n# no heading\n```\n## A customer's e-mail\n## One\n## One\n")
	for _, want := range []string{"one-two-and-three", "a-customers-e-mail", "one", "one-1"} {
		if !got[want] {
			t.Errorf("got the anchors %v, want %s", got, want)
		}
	}
	if len(got) != 4 {
		t.Errorf("got the anchors %v, want four", got)
	}
}
