package temporaldev

import (
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/temporal"
)

const (
	// clusterName is stored in a new database and cannot be changed afterwards.
	clusterName = "active"
	// historyShards cannot be changed afterwards either. One shard is a third slower than four; on one machine, more
	// than four gain nothing.
	historyShards = 4
	// unlimited is a rate that no machine reaches.
	unlimited = 1_000_000
)

// serverOptions returns the options of the server. Its services use fixed addresses, so that after a restart they do
// not wait for the addresses of the previous run to expire.
func serverOptions(o Options, stores config.Persistence, logger log.Logger) []temporal.ServerOption {
	hosts := map[primitives.ServiceName]static.Hosts{}
	services := map[string]config.Service{}
	for service, port := range o.Ports.of() {
		hosts[service] = static.SingleLocalHost(address(port))
		services[string(service)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnLocalHost: true}}
	}
	frontend := address(o.Ports.Frontend)
	return []temporal.ServerOption{
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithDynamicConfigClient(dynamicConfig(o.Tuning)),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithConfig(&config.Config{
			Services:            services,
			Persistence:         stores,
			PublicClient:        config.PublicClient{HostPort: frontend},
			DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
			ClusterMetadata: &cluster.Config{
				FailoverVersionIncrement: 10,
				MasterClusterName:        clusterName,
				CurrentClusterName:       clusterName,
				ClusterInformation: map[string]cluster.ClusterInformation{
					clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
				},
			},
			Archival: config.Archival{
				History:    config.HistoryArchival{State: config.ArchivalDisabled},
				Visibility: config.VisibilityArchival{State: config.ArchivalDisabled},
			},
			NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
				History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
				Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			}},
		}),
	}
}

// dynamicConfig returns the settings of the server. It limits the caches, which by default can grow to several
// gigabytes, removes the rate limits, which exist to share a cluster among tenants, and disables the check for new
// versions on the internet. It enables fairness keys of tasks, which can be switched on and off without losing tasks.
func dynamicConfig(tuning Tuning) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		dynamicconfig.EnableServerVersionCheck.Key():                     false,
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 4000,
		dynamicconfig.EventsHostLevelCacheMaxSizeBytes.Key():             32 << 20,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 1000,
		dynamicconfig.MatchingEnableFairness.Key():                       true,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key():                visibilityPollRPS,
	}
	for _, rate := range []dynamicconfig.Key{
		dynamicconfig.FrontendRPS.Key(),
		dynamicconfig.FrontendMaxNamespaceRPSPerInstance.Key(),
		dynamicconfig.HistoryRPS.Key(),
		dynamicconfig.MatchingRPS.Key(),
		dynamicconfig.FrontendPersistenceMaxQPS.Key(),
		dynamicconfig.HistoryPersistenceMaxQPS.Key(),
		dynamicconfig.MatchingPersistenceMaxQPS.Key(),
	} {
		values[rate] = unlimited
	}
	for key, value := range map[dynamicconfig.Key]int{
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key():       tuning.VisibilityPollRPS,
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  tuning.Partitions,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): tuning.Partitions,
	} {
		if value > 0 {
			values[key] = value
		}
	}
	return values
}
