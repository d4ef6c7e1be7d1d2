package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/activities"
	sdk "github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/trigger"
	"github.com/comanda-dev/comanda/app/webhook"
)

// keyVariable is the environment variable with the API key of listen and trigger.
const keyVariable = "COMANDA_API_KEY"

// service holds the flags of commands that call the API.
type service struct{ url, key, caFile string }

// serviceFlags adds the flags. The key is not an argument, because other users of the machine can see the arguments of
// processes.
func serviceFlags(flags *flag.FlagSet, environ map[string]string) (*service, error) {
	const file = keyVariable + "_FILE"
	key, err := boot.ReadFiles(map[string]string{keyVariable: environ[keyVariable], file: environ[file]})
	s := &service{key: strings.TrimSpace(key[keyVariable])}
	flags.StringVar(&s.url, "url", cmp.Or(environ["COMANDA_BASE_URL"], "https://localhost:8443"), "")
	flags.StringVar(&s.caFile, "ca-file", "", "")
	return s, err
}

// client returns the base URL of the API and a client for it. The key is sent to this URL only: it must use HTTPS,
// except for hosts of this machine, and redirects are refused.
func (s *service) client() (*url.URL, *http.Client, error) {
	if _, err := sdk.New(s.url, sdk.Config{}); err != nil {
		return nil, nil, fmt.Errorf("--url: %w", err)
	}
	base, err := url.Parse(s.url)
	if err != nil {
		return nil, nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--ca-file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(text) {
			return nil, nil, errors.New("--ca-file: contains no certificate in PEM")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return base, &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("redirect to %s refused; pass the address of the service with --url", r.URL)
	}}, nil
}

// explained adds the resolution to an error about the certificate of the service.
func explained(err error) error {
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return fmt.Errorf("%w; pass its certificate authority with --ca-file (.dev/ca.pem for dev)", err)
	}
	return err
}

// followed holds the other flags of listen.
type followed struct {
	events, forward string
	secrets         []string
	json            bool
}

// follow runs the command listen with an API key.
func follow(ctx context.Context, s *service, in followed, stdout, stderr io.Writer) error {
	base, client, err := s.client()
	if err != nil {
		return err
	}
	f := listen.Follower{
		API: base, Key: s.key, Client: client, Out: stdout, Notes: stderr, JSON: in.json, Now: time.Now,
	}
	for name := range strings.SplitSeq(in.events, ",") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
		case !slices.Contains(webhook.EventTypes[:], webhook.EventType(name)):
			return fmt.Errorf("--events: unknown event type %q", name)
		default:
			f.Events = append(f.Events, name)
		}
	}
	if in.forward != "" {
		if f.Target, err = webURL("--forward", in.forward); err != nil {
			return err
		}
		secret, err := signingSecret(in.secrets, stderr)
		if err != nil {
			return err
		}
		f.Headers = func(event listen.Event) http.Header {
			return activities.Headers(app.Outgoing{
				EventID: app.EventID(event.ID), EventAt: event.Timestamp, Position: event.Position,
				Resource: event.Resource, Body: event.Body, Secret: secret,
			}, time.Now())
		}
	}
	fmt.Fprintf(stderr, "following the events of %s; press Ctrl-C to stop\n", base)
	return explained(f.Follow(ctx))
}

// signingSecret returns the first of the given secrets. Without one, it makes a secret and prints it.
func signingSecret(secrets []string, stderr io.Writer) (app.Secret, error) {
	if len(secrets) == 0 {
		secret := rand.Text() + rand.Text()
		fmt.Fprintf(stderr, "signing with the secret %s; set %s to choose one\n", secret, secretVariable)
		return app.NewSecret(secret), nil
	}
	if _, err := webhook.New(secrets...); err != nil {
		return app.Secret{}, fmt.Errorf("%s or --secret-file: %w", secretVariable, err)
	}
	return app.NewSecret(secrets[0]), nil
}

// cause runs the command trigger.
func cause(ctx context.Context, args []string, environ map[string]string, stdout io.Writer) error {
	flags := flag.NewFlagSet("trigger", flag.ContinueOnError)
	service, err := serviceFlags(flags, environ)
	if err != nil {
		return err
	}
	var types []string
	for more := true; more; more = flags.NArg() > 0 { // flags may follow the type
		if err := parse(flags, args, len(args)); err != nil {
			return err
		}
		if flags.NArg() > 0 {
			types, args = append(types, flags.Arg(0)), flags.Args()[1:]
		}
	}
	switch {
	case len(types) == 0:
		fmt.Fprintln(stdout, strings.Join(trigger.Supported(), "\n"))
		return nil
	case len(types) != 1:
		return fmt.Errorf("%w: trigger takes one type", errUsage)
	case service.key == "":
		return errors.New("no API key; set " + keyVariable + " or " + keyVariable + "_FILE")
	}
	base, client, err := service.client()
	if err != nil {
		return err
	}
	client.Timeout = time.Minute
	caller := trigger.Client{API: base, Key: service.key, HTTP: client, Now: time.Now}
	done, err := caller.Trigger(ctx, types[0])
	if err != nil {
		return explained(err)
	}
	fmt.Fprintf(stdout, "%s: %s\n", types[0], done)
	return nil
}
