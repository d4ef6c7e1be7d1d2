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

// secretVariable holds the secrets of webhooks to listen to, separated by commas.
const secretVariable = "COMANDA_WEBHOOK_SECRET"

// receive is the command listen. Secrets never stand in the arguments, which everybody on
// the machine can see.
func receive(ctx context.Context, args []string, environ map[string]string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("listen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	address := flags.String("addr", "127.0.0.1:8099", "")
	certFile, keyFile, plain := flags.String("cert", "", ""), flags.String("key", "", ""), flags.Bool("http", false, "")
	secretFile, forward, lines := flags.String("secret-file", "", ""), flags.String("forward", "", ""), flags.Bool("json", false, "")
	if flags.Parse(args) != nil || flags.NArg() > 0 || *plain == (*certFile != "") || *plain == (*keyFile != "") {
		return errUsage
	}
	secrets, err := webhookSecrets(environ[secretVariable], *secretFile)
	if err != nil {
		return err
	}
	options := listen.Options{Out: stdout, JSON: *lines}
	if options.Verifier, err = webhook.New(secrets...); err != nil {
		return fmt.Errorf("%s or --secret-file: %w", secretVariable, err)
	}
	if *forward != "" {
		target, err := url.Parse(*forward)
		if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Hostname() == "" || target.User != nil {
			return errors.New("--forward: it is no http or https URL without a user name")
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
		return errors.Join(fmt.Errorf("--addr: %s can be reached from elsewhere, which takes --cert and --key", bound), listener.Close())
	}
	fmt.Fprintf(stderr, "listening on %s://%s; Ctrl-C ends it\n", scheme, listener.Addr())
	return listen.Serve(ctx, listener, certificate, listen.Handler(options))
}

// webhookSecrets joins the secrets of the variable and those of the file, one a line. What
// is between commas is taken without the blanks around it, a line as it is.
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
