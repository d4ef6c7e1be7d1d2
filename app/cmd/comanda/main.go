// Command comanda is the production program: the API, the workers, the schema.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // stores have time zones, and an image may have none

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app/boot"
)

const usage = `comanda: restaurant ordering with webhooks that arrive

  comanda serve                     answer the REST API
  comanda worker                    deliver events
  comanda migrate up|down|status    change the database's schema, as its owner; down takes back
                                    what the last up did, and what is kept in its tables
  comanda admin create-platform-admin --email ADDRESS --name NAME
                                    let somebody administer the platform; the password is
                                    asked for, or read from standard input
  comanda listen --http | --cert FILE --key FILE [--addr 127.0.0.1:8099]
                 [--secret-file FILE] [--forward URL] [--json]
                                    verify and print webhooks that arrive, and pass them on to
                                    a URL; the secrets come from COMANDA_WEBHOOK_SECRET,
                                    separated by commas, or are the lines of a file
  comanda health                    exit with 0 if the process on COMANDA_ADMIN_LISTEN is ready
  comanda version                   say which build this is

Settings come from the environment; README.md lists them. Any number of serve and
worker processes run side by side. SIGTERM lets what is under way finish.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], env.ToMap(os.Environ()), os.Stdin, os.Stdout, os.Stderr))
}

// run returns the exit status: 0, 1 for a failure, 2 for a command line that makes no sense.
func run(ctx context.Context, args []string, environ map[string]string, stdin *os.File, stdout, stderr io.Writer) int {
	err := command(ctx, args, environ, stdin, stdout, stderr)
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprint(stderr, usage)
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "comanda:", err)
		return 1
	}
	return 0
}

var errUsage = errors.New("usage")

func command(ctx context.Context, args []string, environ map[string]string, stdin *os.File, stdout, stderr io.Writer) error {
	switch strings.Join(args, " ") {
	case "serve":
		return start(ctx, environ, boot.API, stderr)
	case "worker":
		return start(ctx, environ, boot.Worker, stderr)
	case "health":
		return boot.Health(ctx, environ)
	case "version":
		fmt.Fprintln(stdout, version())
		return nil
	case "help", "-h", "--help":
		fmt.Fprint(stdout, usage)
		return nil
	}
	if len(args) == 2 && args[0] == "migrate" && slices.Contains(boot.MigrateDirections(), args[1]) {
		return boot.Migrate(ctx, environ["DATABASE_URL"], args[1], stdout)
	}
	if len(args) > 2 && args[0] == "admin" && args[1] == "create-platform-admin" {
		return createPlatformAdmin(ctx, args[2:], environ["DATABASE_URL"], stdin, stdout, stderr)
	}
	if len(args) > 0 && args[0] == "listen" {
		return receive(ctx, args[1:], environ, stdout, stderr)
	}
	return errUsage
}

func start(ctx context.Context, environ map[string]string, part boot.Part, stderr io.Writer) error {
	config, err := boot.Load(environ, part)
	if err != nil {
		return err
	}
	log := zerolog.New(stderr).Level(config.LogLevel).With().Timestamp().Str("version", version()).Logger()
	return boot.Run(ctx, config, log, nil)
}

// version is the module's version, else the commit that the program was built from.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return "devel"
}
