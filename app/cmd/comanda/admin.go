package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/boot"
)

// createPlatformAdmin is the command of that name. The password never stands in the
// arguments, which everybody on the machine can see.
func createPlatformAdmin(ctx context.Context, args []string, databaseURL string, stdin *os.File, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("create-platform-admin", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	email, name := flags.String("email", "", ""), flags.String("name", "", "")
	if flags.Parse(args) != nil || flags.NArg() > 0 {
		return errUsage
	}
	password, err := readPassword(stdin, stderr)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	id, err := boot.CreatePlatformAdmin(ctx, databaseURL, time.Now(), boot.PlatformAdmin{Email: *email, Name: *name, Password: password})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s is a platform administrator now (%s)\n", *email, id)
	return nil
}

// readPassword asks for a password where somebody sits at a terminal, which does not show
// it, and reads a line otherwise.
func readPassword(stdin *os.File, stderr io.Writer) (app.Secret, error) {
	if fd := int(stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprint(stderr, "Password: ")
		defer fmt.Fprintln(stderr)
		line, err := term.ReadPassword(fd)
		return app.NewSecret(string(line)), err
	}
	line, err := io.ReadAll(io.LimitReader(stdin, boot.MaxPassword+int64(len("x\r\n")))) // one byte too many is noticed
	return app.NewSecret(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")), err
}
