package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// constants returns the string constants of a type that a file or folder declares.
func constants(t *testing.T, path, typeName string) (values []string) {
	t.Helper()
	for _, file := range parsed(t, path) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			named, ok := spec.Type.(*ast.Ident)
			if !ok || named.Name != typeName || len(spec.Values) == 0 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				must(err)
				values = append(values, value)
			}
			return true
		})
	}
	return values
}

// parsed parses a Go file or those of a folder.
func parsed(t *testing.T, path string) (files []*ast.File) {
	t.Helper()
	names := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		names, err = filepath.Glob(filepath.Join(path, "*.go"))
		must(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
