package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// Ports of the hosts.
const (
	apiPort         = 8443
	apiAdminPort    = 8444
	workerAdminPort = 8445
	postgresPort    = 5432
	temporalPort    = 7233
)

// Times of the installation.
const (
	startTime   = 3 * time.Minute // of one program
	stopTime    = time.Minute     // of one program
	healthEvery = time.Second
	healthTime  = 3 * time.Second
)

// installation is Comanda on three hosts.
type installation struct {
	network  *network
	programs harness.Programs
	infra    *harness.Infra
	settings map[string]string // of all APIs and workers
	hosts    map[string]*host
	ledger   ledger
	caller   *caller
	order    any // body of a new order

	postgres, temporal *harness.Proxy // on the data host

	lock    sync.Mutex
	unready map[string]bool // addresses of APIs
}

// host is a host with an API and a worker.
type host struct{ api, worker *harness.Process }

// start builds the programs and the network and starts all programs. stop must be called also after an error.
func (i *installation) start(ctx context.Context, dir string, progress func(string)) error {
	progress("Building the programs …")
	var err error
	if i.programs, err = harness.Build(ctx, dir); err != nil {
		return err
	}
	progress("Building the network …")
	if err := i.network.build(ctx); err != nil {
		return err
	}
	progress("Starting PostgreSQL and Temporal …")
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if i.infra, err = i.in(data).StartInfra(starting, filepath.Join(dir, "data")); err != nil {
		return err
	}
	if err := i.expose(ctx); err != nil {
		return err
	}
	secret := rand.Text() + rand.Text()
	if err := i.receive(ctx, dir, secret); err != nil {
		return err
	}
	progress("Starting two APIs and two workers …")
	for _, name := range []string{hostA, hostB} {
		i.hosts[name] = &host{}
		if err := i.startHost(ctx, name); err != nil {
			return err
		}
	}
	return i.prepare(ctx, secret)
}

// in returns the programs of a host.
func (i *installation) in(host string) harness.Programs {
	return i.programs.In(i.network.namespace(host))
}

// expose makes PostgreSQL and Temporal, which listen on the loopback interface, reachable for the other hosts, and
// decides the settings of the programs there.
func (i *installation) expose(ctx context.Context) error {
	database, err := url.Parse(i.infra.Ready.Env["DATABASE_URL"])
	if err != nil {
		return err
	}
	if i.postgres, err = i.proxy(ctx, postgresPort, database.Host); err != nil {
		return err
	}
	system, err := url.Parse(i.infra.Ready.Env["COMANDA_SYSTEM_DATABASE_URL"])
	if err != nil {
		return err
	}
	database.Host, system.Host = on(data, postgresPort), on(data, postgresPort)
	if i.temporal, err = i.proxy(ctx, temporalPort, i.infra.Ready.Env["TEMPORAL_ADDRESS"]); err != nil {
		return err
	}
	i.settings = map[string]string{
		"DATABASE_URL": database.String(), "COMANDA_SYSTEM_DATABASE_URL": system.String(),
		"TEMPORAL_ADDRESS":      on(data, temporalPort),
		"COMANDA_BASE_URL":      "https://" + on(outside, apiPort),
		"COMANDA_EGRESS_ALLOW":  addresses[outside] + "/32", // the receiver has a private address
		"COMANDA_API_RATE":      "100000",                   // all requests have one API key
		"COMANDA_WEBSITE_RATE":  "100000",
		"COMANDA_WEBSITE_BURST": "100000",
		"COMANDA_API_BURST":     "100000",
	}
	return nil
}

// proxy forwards a port of the data host to an address of its loopback interface.
func (i *installation) proxy(ctx context.Context, port int, target string) (*harness.Proxy, error) {
	listener, err := i.network.listen(ctx, data, port)
	if err != nil {
		return nil, err
	}
	dial := func() (net.Conn, error) { return i.network.dial(ctx, data, target) }
	return harness.NewProxyOn(listener, dial, i.proxyDelay()), nil
}

// proxyDelay is the delay of the proxies without a fault.
func (i *installation) proxyDelay() time.Duration {
	if i.network.netem {
		return 0 // the links delay packets
	}
	return linkDelay
}

// receive starts the receiver.
func (i *installation) receive(ctx context.Context, dir, secret string) error {
	pair, file, err := certify(dir, time.Now())
	if err != nil {
		return err
	}
	i.settings["COMANDA_EGRESS_CA_FILE"] = file
	listener, err := i.network.listen(ctx, outside, hookPort)
	if err != nil {
		return err
	}
	return i.ledger.serve(ctx, listener, pair, secret)
}

// startHost starts the programs of a host that do not run.
func (i *installation) startHost(ctx context.Context, name string) error {
	if err := i.startPart(ctx, name, &i.hosts[name].api, "serve", map[string]string{
		"COMANDA_LISTEN": on(name, apiPort), "COMANDA_ADMIN_LISTEN": on(name, apiAdminPort),
	}); err != nil {
		return err
	}
	return i.startPart(ctx, name, &i.hosts[name].worker, "worker", map[string]string{
		"COMANDA_ADMIN_LISTEN": on(name, workerAdminPort),
	})
}

// startPart starts an API or a worker, unless it runs.
func (i *installation) startPart(
	ctx context.Context, name string, process **harness.Process, part string, settings map[string]string,
) error {
	if *process != nil && !(*process).Ended() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	maps.Copy(settings, i.settings)
	started, err := i.in(name).StartComanda(ctx, i.infra, part, settings)
	if err != nil {
		return fmt.Errorf("host %s: %w", name, err)
	}
	*process = started
	return nil
}

// prepare connects the load balancer, and creates the webhook and the request of an order.
func (i *installation) prepare(ctx context.Context, secret string) error {
	authority, err := os.ReadFile(i.infra.Ready.CAFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	balancer := &harness.Balancer{
		Addresses: []string{on(hostA, apiPort), on(hostB, apiPort)},
		TLS:       &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12},
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return i.network.dial(ctx, outside, address)
		},
		Avoid: i.avoid,
	}
	i.caller = &caller{client: balancer.Client(requestTime), key: i.infra.Ready.APIKey}
	for _, name := range []string{hostA, hostB} {
		go i.watch(ctx, name)
	}
	webhook := map[string]any{
		"url": "https://" + on(outside, hookPort) + "/hook", "events": []string{"order.created"}, "secret": secret,
	}
	if err := i.caller.call(ctx, http.MethodPost, "/webhooks", "", http.StatusCreated, webhook, nil); err != nil {
		return err
	}
	var product struct{ ID string }
	dish := map[string]any{"name": "Dish of the hosts", "priceMinor": 950, "currency": "EUR", "isAvailable": true}
	if err := i.caller.call(ctx, http.MethodPost, "/products", "", http.StatusCreated, dish, &product); err != nil {
		return err
	}
	i.order = map[string]any{
		"items":           []any{map[string]any{"productId": product.ID, "quantity": 1}},
		"fulfillmentType": "PICKUP", "customer": map[string]string{"name": "Ada Lovelace"},
	}
	return nil
}

// avoid reports whether the API at an address is not ready.
func (i *installation) avoid(address string) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	return i.unready[address]
}

// watch checks the health of an API until ctx is done, as a load balancer does. When it changes, the balancer closes
// the connections that it keeps.
func (i *installation) watch(ctx context.Context, name string) {
	client := &http.Client{Timeout: healthTime, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return i.network.dial(ctx, outside, address)
		},
	}}
	address, ticker := on(name, apiPort), time.NewTicker(healthEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		unready := !healthy(ctx, client, "http://"+on(name, apiAdminPort)+"/readyz")
		i.lock.Lock()
		changed := i.unready[address] != unready
		i.unready[address] = unready
		i.lock.Unlock()
		if changed {
			i.caller.client.CloseIdleConnections()
		}
	}
}

// healthy reports whether a health check responds with 200.
func healthy(ctx context.Context, client *http.Client, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// kill kills all programs of a host.
func (i *installation) kill(name string) {
	for _, process := range []*harness.Process{i.hosts[name].api, i.hosts[name].worker} {
		if process != nil {
			process.Kill()
		}
	}
}

// stop ends all programs and removes the network.
func (i *installation) stop() error {
	var errs []error
	for name := range i.hosts {
		i.kill(name)
	}
	for _, proxy := range []*harness.Proxy{i.postgres, i.temporal} {
		if proxy != nil {
			proxy.Close()
		}
	}
	if i.infra != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		errs = append(errs, i.infra.Stop(ctx))
	}
	return errors.Join(append(errs, i.network.remove())...)
}
