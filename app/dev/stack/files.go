package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// dataDir is the absolute path of the directory that keeps all data between runs.
type dataDir string

func (d dataDir) file(name string) string { return filepath.Join(string(d), name) }

// secret returns a secret of the installation. The first run generates it.
func (d dataDir) secret(name string) (string, error) {
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		secret := rand.Text() + rand.Text()
		return secret, writePrivate(d.file(name), []byte(secret+"\n"))
	}
	return strings.TrimSpace(string(text)), err
}

// read returns the content of a file without surrounding space, or "" if the file does not exist.
func (d dataDir) read(name string) (string, error) {
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// trusted returns a file with the certificate authority in ownCA and those in othersFile ("" = none).
func (d dataDir) trusted(ownCA, othersFile string) (string, error) {
	if othersFile == "" {
		return ownCA, nil
	}
	own, err := os.ReadFile(ownCA)
	if err != nil {
		return "", err
	}
	others, err := os.ReadFile(othersFile)
	if err != nil {
		return "", err
	}
	path := d.file("egress-ca.pem")
	return path, writePrivate(path, append(append(others, '\n'), own...))
}

// writeJSON writes a value to a file that only this user may read.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(path, append(text, '\n'))
}

// writePrivate replaces a file atomically. Only this user may read it.
func writePrivate(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
