// Command comanda is the production program. Its subcommands run the API and the workers, migrate the schema and
// perform administrative tasks.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // stores have time zones, and container images may lack the database

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app/boot"
)

const usage = `comanda: restaurant ordering with reliable webhooks

  comanda init [--base-url URL] [FILE]
                                    write new secrets for docker-compose.yml to .env or another file
                                    that does not exist yet
  comanda serve                     run the REST API and the dashboard
  comanda worker                    run the workflows and deliver events
  comanda migrate up|status         migrate the database schema, as its owner, or list the migrations
  comanda migrate down [--delete-data]
                                    revert the last up; without the flag, list the data that this
                                    deletes, and fail
  comanda admin create-platform-admin --email ADDRESS --name NAME
                                    create a platform administrator; the command prompts for the
                                    password, or reads it from standard input
  comanda admin reset-password --email ADDRESS
                                    print a link with which a user or a platform administrator
                                    chooses a new password once, within an hour
  comanda admin disable-user|enable-user|end-sessions --email ADDRESS
                                    disable a user or a platform administrator, undo that, or end
                                    all sessions; effective from the next request
  comanda admin reset-otp --email ADDRESS
                                    switch off the one-time passwords of a user
  comanda admin reseal              seal all secrets in the database again with the first key of
                                    COMANDA_SECRET_KEYS, and print which keys can be removed; all
                                    processes must already have it as their first
  comanda listen --http | --cert FILE --key FILE [--addr 127.0.0.1:8099]
                 [--secret-file FILE] [--forward URL] [--json]
                                    receive, verify and print webhooks, and forward them to a
                                    URL; the secrets are in COMANDA_WEBHOOK_SECRET, separated by
                                    commas, or in a file, one per line
  comanda listen [--url https://localhost:8443] [--forward URL]
                 [--events TYPE,TYPE] [--secret-file FILE] [--ca-file FILE] [--json]
                                    follow the events of a store without a webhook, print them, and
                                    forward them to a URL, signed as a webhook; the key needs the
                                    scope webhooks:manage, and is in COMANDA_API_KEY or in the file
                                    that COMANDA_API_KEY_FILE names
  comanda trigger [--url https://localhost:8443] [--ca-file FILE] TYPE
                                    cause an event in the sandbox of a test key, which needs the
                                    scopes write:orders and write:products, or write:reservations
                                    for reservations; without a type, list the types
  comanda health                    exit with 0 if the process at COMANDA_ADMIN_LISTEN is ready; if it
                                    is not set, check the API and the worker on this machine
  comanda version                   print the version, the commit and its date

The configuration comes from environment variables, which docs/configuration.md lists. You can run any number
of serve and worker processes. On SIGTERM, a process finishes its current work and exits.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], env.ToMap(os.Environ()), os.Stdin, os.Stdout, os.Stderr))
}

// run executes the command and returns the exit status: 0 for success, 1 for a failure, 2 for an invalid command line.
func run(ctx context.Context, args []string, environ map[string]string, stdin *os.File, stdout, stderr io.Writer) int {
	err := command(ctx, args, environ, stdin, stdout, stderr)
	switch {
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "%s\ncomanda: %v\n", usage, err)
		return 2
	case err != nil:
		fmt.Fprintln(stderr, "comanda:", err)
		return 1
	}
	return 0
}

// errUsage makes the program print its usage.
var errUsage = errors.New("invalid arguments")

// parse parses the flags of a command, which takes at most the given number of other arguments. Its errors do not
// repeat arguments, because they can be misplaced secrets.
func parse(flags *flag.FlagSet, args []string, most int) error {
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > most {
		return fmt.Errorf("%w: an argument is not the value of a flag", errUsage)
	}
	return nil
}

// unknown returns the error for arguments that no command takes.
func unknown(args []string) error {
	switch {
	case len(args) == 0:
		return fmt.Errorf("%w: a command is required", errUsage)
	case !strings.Contains(usage, "\n  comanda "+args[0]+" "):
		return fmt.Errorf("%w: unknown command %q", errUsage, args[0])
	}
	return fmt.Errorf("%w of %s", errUsage, args[0])
}

func command(
	ctx context.Context, args []string, environ map[string]string, stdin *os.File, stdout, stderr io.Writer,
) error {
	if len(args) > 0 && (args[0] == "admin" || args[0] == "migrate") { // boot.Load reads the files of serve and worker
		var err error
		if environ, err = boot.ReadFiles(environ); err != nil {
			return err
		}
	}
	if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
		args = []string{"help"}
	}
	switch strings.Join(args, " ") {
	case "serve":
		return start(ctx, environ, boot.API, stderr)
	case "worker":
		return start(ctx, environ, boot.Worker, stderr)
	case "migrate up":
		return boot.Migrate(ctx, environ["DATABASE_URL"], stdout)
	case "migrate status":
		return boot.ListMigrations(ctx, environ["DATABASE_URL"], stdout)
	case "health":
		return boot.Health(ctx, environ)
	case "admin reseal":
		return boot.Reseal(ctx, environ, stdout)
	case "version":
		build, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("the program was built without build information")
		}
		fmt.Fprint(stdout, describeBuild(build))
		return nil
	case "help":
		fmt.Fprint(stdout, usage)
		return nil
	}
	if len(args) > 1 && args[0] == "migrate" && args[1] == "down" {
		return revert(ctx, args[2:], environ["DATABASE_URL"], stdout)
	}
	if len(args) > 0 && args[0] == "init" {
		return writeEnv(args[1:], stdout)
	}
	if len(args) > 2 && args[0] == "admin" && args[1] == "create-platform-admin" {
		return createPlatformAdmin(ctx, args[2:], environ, stdin, stdout, stderr)
	}
	if len(args) > 1 && args[0] == "admin" && slices.Contains(boot.UserCommands(), args[1]) {
		return administerUser(ctx, args[1], args[2:], environ, stdout)
	}
	if len(args) > 0 && args[0] == "listen" {
		return receive(ctx, args[1:], environ, stdout, stderr)
	}
	if len(args) > 0 && args[0] == "trigger" {
		return cause(ctx, args[1:], environ, stdout)
	}
	return unknown(args)
}

// revert runs "migrate down".
func revert(ctx context.Context, args []string, ownerURL string, stdout io.Writer) error {
	flags := flag.NewFlagSet("migrate down", flag.ContinueOnError)
	deleteData := flags.Bool("delete-data", false, "")
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	return boot.Revert(ctx, ownerURL, *deleteData, stdout)
}

func start(ctx context.Context, environ map[string]string, part boot.Part, stderr io.Writer) error {
	config, err := boot.Load(environ, part)
	if err != nil {
		return err
	}
	log := zerolog.New(stderr).Level(config.LogLevel).With().Timestamp().Str("version", version()).Logger()
	return boot.Run(ctx, config, log, nil)
}

// version returns the version of the module, or "devel" if the program was not built from a release.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok || build.Main.Version == "" || build.Main.Version == "(devel)" {
		return "devel"
	}
	return build.Main.Version
}

// describeBuild returns the version with the commit, the date of the commit (RFC 3339, UTC), the version of Go and the
// platform, as far as the build recorded them.
func describeBuild(build *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, setting := range build.Settings {
		settings[setting.Key] = setting.Value
	}
	text := "comanda " + cmp.Or(build.Main.Version, "devel")
	if commit := settings["vcs.revision"]; commit != "" {
		text += "\ncommit " + commit
		if settings["vcs.modified"] == "true" {
			text += ", with changes"
		}
		text += "\ndate " + settings["vcs.time"]
	}
	return text + fmt.Sprintf("\n%s %s/%s\n", build.GoVersion, settings["GOOS"], settings["GOARCH"])
}
