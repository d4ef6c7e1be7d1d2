package temporaldev

import (
	"fmt"
	"net/url"
	"strings"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

const (
	storeSchema      = "postgresql/v12/temporal"
	visibilitySchema = "postgresql/v12/visibility"
	// storeConnections limits the pool of each store in each service.
	storeConnections = 20
)

// setUpStores creates or upgrades the schemas of both databases and returns their configuration.
func setUpStores(o Options, logger log.Logger) (config.Persistence, error) {
	stores := config.Persistence{
		DefaultStore:     "store",
		VisibilityStore:  "visibility",
		NumHistoryShards: historyShards,
		DataStores:       map[string]config.DataStore{},
	}
	for name, store := range map[string]struct{ url, schema string }{
		stores.DefaultStore:    {o.StoreURL, storeSchema},
		stores.VisibilityStore: {o.VisibilityURL, visibilitySchema},
	} {
		database, err := parseURL(store.url)
		if err != nil {
			return config.Persistence{}, fmt.Errorf("the database URL of Temporal's %s: %w", name, err)
		}
		if err := setUpSchema(database, store.schema, logger); err != nil {
			return config.Persistence{}, fmt.Errorf("set up the schema of Temporal's %s: %w", name, err)
		}
		stores.DataStores[name] = config.DataStore{SQL: database}
	}
	return stores, nil
}

// parseURL converts a postgres:// URL into the configuration of the server.
func parseURL(text string) (*config.SQL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	attributes := map[string]string{"sslmode": "prefer"} // as PostgreSQL's clients; the server's default is no TLS
	for name := range u.Query() {
		attributes[name] = u.Query().Get(name)
	}
	return &config.SQL{
		PluginName:        postgresql.PluginNamePGX,
		ConnectProtocol:   "tcp",
		ConnectAddr:       u.Host,
		ConnectAttributes: attributes,
		User:              url.PathEscape(u.User.Username()), // the server inserts it into a URL without escaping
		Password:          password,
		DatabaseName:      strings.TrimPrefix(u.Path, "/"),
		MaxConns:          storeConnections,
		MaxIdleConns:      storeConnections,
	}, nil
}

// setUpSchema creates or upgrades a schema with the SQL that the server contains. It can be repeated.
func setUpSchema(database *config.SQL, name string, logger log.Logger) error {
	conn, err := sql.NewConnection(database, logger)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := schema.NewSetupSchemaTask(conn, &schema.SetupConfig{InitialVersion: "0.0"}, logger).Run(); err != nil {
		return err
	}
	return schema.NewUpdateSchemaTask(conn, &schema.UpdateConfig{SchemaName: name}, logger).Run()
}
