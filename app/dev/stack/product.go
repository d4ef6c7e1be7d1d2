package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/boot"
	"github.com/comanda-dev/comanda/app/dev/demo"
	"github.com/comanda-dev/comanda/app/dev/localca"
	"github.com/comanda-dev/comanda/app/dev/receiver"
	"github.com/comanda-dev/comanda/app/dev/social"
	"github.com/comanda-dev/comanda/app/listen"
	"github.com/comanda-dev/comanda/app/webhook"
	"github.com/comanda-dev/comanda/persistence/pg"
)

const (
	// attemptStopTime is the time for attempts in flight to finish when the product stops.
	attemptStopTime = 4 * time.Second
	// productStopTime is the part of stopTime that the product may use.
	productStopTime = 6 * time.Second
)

// keyFile holds the API key of the demo data, because the database stores only its hash.
const keyFile = "api.key"

// startProduct migrates the database, creates the demo data, and starts the receiver, the API and a worker. With
// --infra it starts none of them, and s.Ready gets the environment of these programs.
func (s *Stack) startProduct(ctx context.Context, o Options, d databases) error {
	files, err := localca.Open(string(s.data), time.Now())
	if err != nil {
		return err
	}
	settings, err := s.settings(o, d, files)
	if err != nil {
		return err
	}
	if err := boot.Migrate(ctx, d.owner, io.Discard); errors.Is(err, pg.ErrOtherSchema) {
		return fmt.Errorf("%w: delete %s and all its data, or choose another directory with --data", err, s.data)
	} else if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	s.Ready = Ready{
		APIURL:            settings["COMANDA_BASE_URL"],
		DashboardURL:      settings["COMANDA_BASE_URL"] + "/dashboard",
		TemporalUIURL:     s.ports.url("http", uiPort),
		TemporalAddress:   settings["TEMPORAL_ADDRESS"],
		TemporalNamespace: settings["TEMPORAL_NAMESPACE"],
		DatabaseURL:       d.product,
		SystemDatabaseURL: d.system,
		CAFile:            files.CA,
	}
	if o.Infra {
		s.Ready.OwnerDatabaseURL, s.Ready.Env = d.owner, settings
	} else if err := s.startReceiver(files, o.Out); err != nil {
		return err
	}
	if !o.NoDemo {
		if err := s.seed(ctx, settings); err != nil {
			return fmt.Errorf("demo data: %w", err)
		}
	}
	if o.Infra {
		return nil
	}
	s.Ready.AdminURL = s.ports.url("http", adminPort)
	settings["COMANDA_ADMIN_LISTEN"] = s.ports.address(adminPort)
	if err := s.startSocial(o, files, settings); err != nil {
		return err
	}
	return s.run(ctx, settings)
}

// settings returns the environment of the product.
func (s *Stack) settings(o Options, d databases, files localca.Files) (map[string]string, error) {
	key, err := s.data.secret("secret.key")
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	trusted, err := s.data.trusted(files.CA, o.env("COMANDA_EGRESS_CA_FILE"))
	if err != nil {
		return nil, fmt.Errorf("COMANDA_EGRESS_CA_FILE: %w", err)
	}
	decided := map[string]string{
		"DATABASE_URL":                d.product,
		"COMANDA_SYSTEM_DATABASE_URL": d.system,
		"TEMPORAL_ADDRESS":            s.ports.address(frontendPort),
		"TEMPORAL_NAMESPACE":          namespace,
		"COMANDA_LISTEN":              s.ports.address(apiPort),
		"COMANDA_EGRESS_CA_FILE":      trusted,
	}
	defaults := map[string]string{
		"COMANDA_BASE_URL":        s.ports.url("https", apiPort),
		"COMANDA_TEMPORAL_UI_URL": s.ports.url("http", uiPort),
		"COMANDA_TLS_CERT":        files.Cert,
		"COMANDA_TLS_KEY":         files.Key,
		"COMANDA_SECRET_KEYS":     key,
		"COMANDA_EGRESS_ALLOW":    "127.0.0.0/8,::1/128",
		"COMANDA_DRAIN_DELAY":     "0s", // no load balancer
		"COMANDA_PLATFORM_OTP":    "optional",
	}
	return o.settings(decided, defaults), nil
}

// startReceiver starts the webhook receiver.
func (s *Stack) startReceiver(files localca.Files, out io.Writer) error {
	secret, err := s.data.secret("webhook.secret")
	if err != nil {
		return err
	}
	verifier, err := webhook.New(secret)
	if err != nil {
		return fmt.Errorf("webhook.secret: %w", err)
	}
	s.serve("webhook receiver", receiverPort, files, receiver.Handler(listen.Options{Verifier: verifier, Out: out}))
	s.Ready.ReceiverURL, s.Ready.ReceiverSecret = s.ports.url("https", receiverPort)+receiver.Path, secret
	return nil
}

// startSocial starts the mock of the social login providers and configures the API to trust it. It does nothing if the
// environment configures a provider.
func (s *Stack) startSocial(o Options, files localca.Files, settings map[string]string) error {
	for _, provider := range app.Providers {
		if o.sets(social.Setting(provider)) {
			return nil
		}
	}
	s.Ready.SocialURL = s.ports.url("https", socialPort)
	provider, err := social.New(s.Ready.SocialURL, time.Now)
	if err != nil {
		return err
	}
	s.serve("social login", socialPort, files, provider)
	maps.Copy(settings, provider.Settings())
	return nil
}

// seed creates the missing demo data.
func (s *Stack) seed(ctx context.Context, settings map[string]string) error {
	keyring, err := app.NewKeyring(app.NewSecret(settings["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return fmt.Errorf("COMANDA_SECRET_KEYS: %w", err)
	}
	key, err := s.data.read(keyFile)
	if err != nil {
		return err
	}
	made, err := demo.Seed(ctx, demo.Options{
		DatabaseURL: settings["DATABASE_URL"],
		SystemURL:   settings["COMANDA_SYSTEM_DATABASE_URL"],
		Keyring:     keyring,
		Now:         time.Now,
		ReceiverURL: s.Ready.ReceiverURL,
		Secret:      app.NewSecret(s.Ready.ReceiverSecret),
		APIKey:      app.NewSecret(key),
	})
	if err != nil {
		return err
	}
	s.Ready.Users, s.Ready.Stores = made.Users, made.Stores
	s.Ready.PlatformAdmin, s.Ready.Customer, s.Ready.APIKey = &made.PlatformAdmin, &made.Customer, made.APIKey
	return writePrivate(s.data.file(keyFile), []byte(made.APIKey+"\n"))
}

// run starts the API and a worker in this process, and returns when both are ready.
func (s *Stack) run(ctx context.Context, settings map[string]string) error {
	config, err := boot.Load(settings, boot.API|boot.Worker)
	if err != nil {
		return err
	}
	config.StopTimeout = attemptStopTime
	file, err := s.log("comanda.log")
	if err != nil {
		return err
	}
	log := zerolog.New(file).Level(config.LogLevel).With().Timestamp().Logger()
	s.ports.take(apiPort)
	s.ports.take(adminPort)

	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended, done := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		ended <- boot.Run(running, config, log, func() { close(ready) })
	}()
	s.add("Comanda", func(ctx context.Context) error {
		ctx, release := context.WithTimeout(ctx, productStopTime)
		defer release()
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("still running after %v: %w", productStopTime, ctx.Err())
		}
	})
	select {
	case <-ready:
		s.watch("Comanda", ended)
		return nil
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
