package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate compares the committed files of the client with newly generated ones.
func TestUpToDate(t *testing.T) {
	t.Parallel()
	files, err := generate("../../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("../comanda", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from api/openapi.yaml; run go generate ./api/client/... and commit it", name)
		}
	}
}
