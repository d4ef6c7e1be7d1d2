// Command generate writes the types and methods of the Go client from api/openapi.yaml. Run it with go generate in
// api/client/comanda.
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	files, err := generate("../../openapi.yaml")
	if err != nil {
		log.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join("../comanda", name), text, 0o644); err != nil { //nolint:gosec // source code
			log.Fatal(err)
		}
	}
}
