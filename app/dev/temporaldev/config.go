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
	// clusterName is written into the database when it is new and cannot be changed afterwards.
	clusterName = "active"
	// historyShards likewise. One shard is a third slower than four; more gain nothing on one machine.
	historyShards = 4
	// unlimited stands for a rate that no machine reaches.
	unlimited = 1_000_000
)

// serverOptions assembles the server. Its services find each other at fixed addresses, so that a restart does not wait
// for the ones before to be forgotten.
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

// dynamicConfig bounds the server's caches, which by default may hold several gigabytes, lifts its rate limits, which
// are there to share a cluster among tenants, and keeps it from asking the internet about newer versions. Task queues
// take turns between the fairness keys of their tasks. The server moves to that and back without losing queued tasks.
func dynamicConfig(tuning Tuning) dynamicconfig.StaticClient {
	values := dynamicconfig.StaticClient{
		dynamicconfig.EnableServerVersionCheck.Key():                     false,
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 4000,
		dynamicconfig.EventsHostLevelCacheMaxSizeBytes.Key():             32 << 20,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 1000,
		dynamicconfig.MatchingEnableFairness.Key():                       true,
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
