package openapi

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
)

// Comments holds the doc comments of types ("Order") and fields ("Order.Number").
type Comments map[string]string

// ReadComments reads the comments in the Go files of folders.
func ReadComments(folders ...string) (Comments, error) {
	texts := Comments{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			texts.add(file)
		}
	}
	return texts, nil
}

// add adds the comments of one file.
func (c Comments) add(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		declaration, ok := n.(*ast.GenDecl)
		if !ok {
			return true
		}
		for _, spec := range declaration.Specs {
			named, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			c[named.Name.Name] = plain(cmp.Or(named.Doc.Text(), declaration.Doc.Text()))
			structure, ok := named.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					c[named.Name.Name+"."+name.Name] = plain(cmp.Or(field.Doc.Text(), field.Comment.Text()))
				}
			}
		}
		return true
	})
}

// on returns the comment on a field of a struct or of an embedded struct, "" if there is none.
func (c Comments) on(t reflect.Type, field string) string {
	if t == nil {
		return ""
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return ""
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	if text := c[name+"."+field]; text != "" {
		return text
	}
	for i := range t.NumField() {
		if t.Field(i).Anonymous {
			if text := c.on(t.Field(i).Type, field); text != "" {
				return text
			}
		}
	}
	return ""
}

var (
	reference = regexp.MustCompile(`\s?\(docs/[^)]*\)`)
	link      = regexp.MustCompile(`\[(\*?[A-Z][\w.]*)\]`)
)

// plain removes from a comment the references to documents of the repository and the marks of links.
func plain(comment string) string {
	text := link.ReplaceAllString(reference.ReplaceAllString(comment, ""), "$1")
	return strings.Join(strings.Fields(text), " ")
}
