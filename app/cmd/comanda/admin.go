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

// createPlatformAdmin runs the command admin create-platform-admin. The password is not an argument, because other
// users of the machine can see the arguments of processes.
func createPlatformAdmin(
	ctx context.Context, args []string, environ map[string]string, stdin *os.File, stdout, stderr io.Writer,
) error {
	flags := flag.NewFlagSet("create-platform-admin", flag.ContinueOnError)
	email, name := flags.String("email", "", ""), flags.String("name", "", "")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	password, err := readPassword(stdin, stderr)
	if err != nil {
		return fmt.Errorf("cannot read the password: %w", err)
	}
	admin := boot.PlatformAdmin{Email: *email, Name: *name, Password: password}
	id, err := boot.CreatePlatformAdmin(ctx, environ, time.Now(), admin)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "created the platform administrator %s (%s)\n", *email, id)
	fmt.Fprintln(stdout, "Log in to the dashboard and set up a second factor on the page Security. Without it, the "+
		"platform console is closed, unless COMANDA_PLATFORM_OTP=optional.")
	return nil
}

// administerUser runs a command of boot.UserCommands.
func administerUser(
	ctx context.Context, command string, args []string, environ map[string]string, stdout io.Writer,
) error {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	email := flags.String("email", "", "")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	text, err := boot.AdministerUser(ctx, environ, time.Now(), command, *email)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, text)
	return nil
}

// readPassword prompts for a password without echo if stdin is a terminal. Otherwise, it reads stdin up to the end and
// removes one trailing newline.
func readPassword(stdin *os.File, stderr io.Writer) (app.Secret, error) {
	if fd := int(stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprint(stderr, "Password: ")
		defer fmt.Fprintln(stderr)
		line, err := term.ReadPassword(fd)
		return app.NewSecret(string(line)), err
	}
	// The limit leaves room for one byte too many, so that a password that is too long is refused and not truncated.
	line, err := io.ReadAll(io.LimitReader(stdin, app.MaxPassword+int64(len("x\r\n"))))
	return app.NewSecret(strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")), err
}
