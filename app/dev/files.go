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

// dataDir is the directory in which everything is kept between runs, by its absolute path.
type dataDir string

func (d dataDir) file(name string) string { return filepath.Join(string(d), name) }

// secret returns a secret of the installation, made on the first run.
func (d dataDir) secret(name string) (string, error) {
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		secret := rand.Text() + rand.Text()
		return secret, writePrivate(d.file(name), []byte(secret+"\n"))
	}
	return strings.TrimSpace(string(text)), err
}

// read returns the line in a file, "" if there is none.
func (d dataDir) read(name string) (string, error) {
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// trusted returns a file with our own certificate authority and those of another file, if there is one.
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

// writePrivate replaces a file in one step; only this user may read it.
func writePrivate(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
