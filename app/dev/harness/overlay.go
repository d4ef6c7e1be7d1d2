package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// BuildWith builds Comanda into a directory, with other contents of source files, also of the standard library, and
// with further ones. files are the contents by path. It returns the path of the program.
func BuildWith(ctx context.Context, dir, name string, files map[string]string) (string, error) {
	overlay, err := writeOverlay(dir, name, files)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", path, comandaPackage)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// writeOverlay writes contents of source files and the overlay of them, whose path it returns.
func writeOverlay(dir, name string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for path, content := range files {
		own := filepath.Join(dir, name+"."+strconv.Itoa(len(replace))+"."+filepath.Base(path))
		if err := os.WriteFile(own, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[path] = own
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name+".overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

// SourceOf returns the directory with the sources of a package.
func SourceOf(ctx context.Context, pkg string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("find the sources of %s: %w", pkg, err)
	}
	return strings.TrimSpace(string(out)), nil
}
