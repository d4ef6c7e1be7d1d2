package main

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	processors "github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	loads "github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// machine describes the machine of the measurement. Unknown fields are empty.
type machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	Memory float64 `json:"memoryGiB"`
	System string  `json:"system"`
	Load   float64 `json:"loadAtStart"` // average of the last minute; other load distorts the figures
}

// versions are the versions of the measured programs.
type versions struct {
	Comanda        string `json:"comanda"`
	Previous       string `json:"previous,omitempty"`
	Go             string `json:"go"`
	PostgreSQL     string `json:"postgresql"`
	TemporalServer string `json:"temporalServer"`
	TemporalSDK    string `json:"temporalSdk"`
}

func describeMachine() machine {
	m := machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info, err := processors.Info(); err == nil && len(info) > 0 {
		m.CPU = info[0].ModelName
	}
	if memory, err := mem.VirtualMemory(); err == nil {
		m.Memory = float64(memory.Total) / (1 << 30)
	}
	if kernel, err := host.KernelVersion(); err == nil {
		m.System += " " + kernel
	}
	if average, err := loads.Avg(); err == nil {
		m.Load = average.Load1
	}
	return m
}

// describeVersions reads the versions from the running servers and programs.
func (b *bench) describeVersions(ctx context.Context) (v versions, err error) {
	v = versions{Comanda: b.programs[0].version, Go: runtime.Version(), TemporalSDK: temporal.SDKVersion}
	if len(b.programs) > 1 {
		v.Previous = b.programs[1].version
	}
	if err := b.emitter.scan(ctx, &v.PostgreSQL, "SHOW server_version"); err != nil {
		return v, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	server, err := client.DialContext(ctx, client.Options{
		HostPort: b.infra.Ready.TemporalAddress, Logger: temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return v, err
	}
	defer server.Close()
	info, err := server.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return v, err
	}
	v.TemporalServer = info.ServerVersion
	return v, nil
}
