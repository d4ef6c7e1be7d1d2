package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
)

// writeEnv runs the command init: it generates the secrets of docker-compose.yml and writes them as environment
// variables to a file, which must not exist. It does not write them to the standard output, because a shell that
// redirects it empties the existing file, with the only copy of the keys, before this program starts.
func writeEnv(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	base := flags.String("base-url", "https://localhost:8443", "")
	if err := parse(flags, args, 1); err != nil {
		return err
	}
	if u, err := url.Parse(*base); err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("--base-url must be an https URL")
	}
	settings := fmt.Sprintf(`# Written by comanda init. Keep this file: the databases keep these passwords, and
# the keys seal the secrets in them.
COMANDA_BASE_URL=%s
COMANDA_SECRET_KEYS=%s
COMANDA_SERVE_PASSWORD=%s
COMANDA_SERVE_SYSTEM_PASSWORD=%s
COMANDA_WORKER_PASSWORD=%s
COMANDA_WORKER_SYSTEM_PASSWORD=%s
COMANDA_OWNER_PASSWORD=%s
TEMPORAL_DB_PASSWORD=%s
POSTGRES_PASSWORD=%s
`, *base, randomHex(32), randomHex(16), randomHex(16), randomHex(16), randomHex(16), randomHex(16), randomHex(16),
		randomHex(16))
	path := ".env"
	if flags.NArg() == 1 {
		path = flags.Arg(0)
	}
	if err := writeNew(path, settings); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; delete it only together with the databases that use its passwords", path)
	} else if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote %s; keep it secret and keep a copy\n", path)
	return nil
}

// writeNew writes a file that only its owner can read. If the file exists, the error is fs.ErrExist. After any other
// error the file does not exist.
func writeNew(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// randomHex returns n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
