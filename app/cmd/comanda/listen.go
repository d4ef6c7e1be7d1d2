package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/webhook"
)

// secretVariable is the environment variable with the secrets of the webhooks, separated by commas.
const secretVariable = "COMANDA_WEBHOOK_SECRET"

// receive runs the command listen. Secrets are not arguments, because other users of the machine can see the arguments
// of processes.
func receive(ctx context.Context, args []string, environ map[string]string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("listen", flag.ContinueOnError)
	address := flags.String("addr", "127.0.0.1:8099", "")
	certFile, keyFile, plain := flags.String("cert", "", ""), flags.String("key", "", ""), flags.Bool("http", false, "")
	secretFile, forward := flags.String("secret-file", "", ""), flags.String("forward", "", "")
	lines, events := flags.Bool("json", false, ""), flags.String("events", "", "")
	service, err := serviceFlags(flags, environ)
	if err != nil {
		return err
	}
	if err := parse(flags, args, 0); err != nil {
		return err
	}
	secrets, err := webhookSecrets(environ[secretVariable], *secretFile)
	if err != nil {
		return err
	}
	received := *plain || *certFile != "" || *keyFile != ""
	if service.key != "" && !received {
		return follow(ctx, service, followed{*events, *forward, secrets, *lines}, stdout, stderr)
	}
	if !received {
		return fmt.Errorf("%w: set %s to follow events, or pass --http, or --cert and --key, to receive webhooks",
			errUsage, keyVariable)
	}
	if *plain == (*certFile != "") || *plain == (*keyFile != "") {
		return fmt.Errorf("%w: pass either --http, or --cert and --key", errUsage)
	}
	if *events != "" {
		return fmt.Errorf("%w: --events is for listen with an API key; a webhook selects its own events", errUsage)
	}
	options := listen.Options{Out: stdout, JSON: *lines}
	if options.Verifier, err = webhook.New(secrets...); err != nil {
		return fmt.Errorf("%s or --secret-file: %w", secretVariable, err)
	}
	if *forward != "" {
		target, err := webURL("--forward", *forward)
		if err != nil {
			return err
		}
		options.Next = listen.Forward(target)
	}
	var certificate *tls.Certificate
	scheme := "http"
	if !*plain {
		pair, err := tls.LoadX509KeyPair(*certFile, *keyFile)
		if err != nil {
			return fmt.Errorf("--cert, --key: %w", err)
		}
		certificate, scheme = &pair, "https"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	if bound := listener.Addr().(*net.TCPAddr); *plain && !bound.IP.IsLoopback() {
		err := fmt.Errorf("--addr: %s is not a loopback address; use --cert and --key instead of --http", bound)
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(stderr, "listening on %s://%s; press Ctrl-C to stop\n", scheme, listener.Addr())
	return listen.Serve(ctx, listener, certificate, listen.Handler(options))
}

// webURL parses the http or https URL of a flag.
func webURL(name, text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" ||
		parsed.User != nil {
		return nil, fmt.Errorf("%s: must be an http or https URL without a user name", name)
	}
	return parsed, nil
}

// webhookSecrets returns the secrets of the variable (separated by commas, without surrounding spaces) and of the file
// (one per line, unchanged).
func webhookSecrets(variable, file string) ([]string, error) {
	var secrets []string
	for part := range strings.SplitSeq(variable, ",") {
		if part = strings.TrimSpace(part); part != "" {
			secrets = append(secrets, part)
		}
	}
	if file == "" {
		return secrets, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--secret-file: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			secrets = append(secrets, line)
		}
	}
	return secrets, nil
}
