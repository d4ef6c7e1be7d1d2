package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/comanda-dev/comanda/app"
)

// text is a stored or printed text with its place.
type text struct{ where, what string }

// logs returns the output and the metrics of the programs.
func (c *canaries) logs() (all []text) {
	for name, output := range c.output {
		all = append(all, text{name, output()})
	}
	for _, name := range []string{"postgres.log", "temporal.log"} {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(worldOf(c.t).infra.Ready.CAFile), name))
		must(c.t, err)
		all = append(all, text{name, string(content)})
	}
	for _, address := range c.admin {
		response, err := http.Get(address + "/metrics")
		must(c.t, err)
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		must(c.t, err)
		all = append(all, text{address + "/metrics", string(content)})
	}
	c.wantFound(all, string(c.store))
	return all
}

// wantFound checks that a search of these texts finds a text that must be in them.
func (c *canaries) wantFound(texts []text, known string) {
	c.t.Helper()
	for _, text := range texts {
		if strings.Contains(text.what, known) || strings.Contains(text.what, hex.EncodeToString([]byte(known))) {
			return
		}
	}
	c.t.Errorf("the search does not find %q, so its result proves nothing", known)
}

func (c *canaries) productTables() []text {
	system, err := pgx.ParseConfig(worldOf(c.t).infra.Ready.Env["COMANDA_SYSTEM_DATABASE_URL"])
	must(c.t, err)
	system.RuntimeParams["role"] = "comanda_system"
	owner, err := pgx.ParseConfig(worldOf(c.t).infra.Ready.OwnerDatabaseURL)
	must(c.t, err)
	all := append(c.tables(system), c.tables(owner)...)
	c.wantFound(all, "Guste-Canary")
	return all
}

func (c *canaries) temporalTables() (all []text) {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(worldOf(c.t).infra.Ready.CAFile), "roles.json"))
	must(c.t, err)
	var passwords map[string]string
	must(c.t, json.Unmarshal(content, &passwords))
	for _, database := range []string{"temporal", "temporal_visibility"} {
		config, err := pgx.ParseConfig(worldOf(c.t).infra.Ready.OwnerDatabaseURL)
		must(c.t, err)
		config.User, config.Password, config.Database = "temporal", passwords["temporal"], database
		tables := c.tables(config)
		c.wantFound(tables, string(c.store))
		all = append(all, tables...)
	}
	return all
}

// tables returns all rows of all tables that a role can read. Binary columns are in hexadecimal.
func (c *canaries) tables(config *pgx.ConnConfig) (all []text) {
	c.t.Helper()
	ctx := c.t.Context()
	conn, err := pgx.ConnectConfig(ctx, config)
	must(c.t, err)
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `SELECT oid::regclass::text FROM pg_class
		WHERE relkind IN ('r', 'm') AND has_table_privilege(oid, 'SELECT')
		AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`)
	must(c.t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(c.t, err)
	for _, name := range names {
		rows, err := conn.Query(ctx, "SELECT t::text FROM "+name+" t")
		must(c.t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(c.t, err)
		all = append(all, text{name, strings.Join(lines, "\n")})
	}
	return all
}

// histories returns all workflows with their descriptions and histories.
func (c *canaries) histories() (all []text) {
	ctx := c.t.Context()
	eventually(c.t, "the workflows of both deliveries are visible", func() error {
		deliveries, err := worldOf(c.t).db.Deliveries(ctx, c.store, app.DeliveryFilter{}, "", 10)
		if err == nil && len(deliveries) != 2 {
			err = fmt.Errorf("%d deliveries", len(deliveries))
		}
		for _, d := range deliveries { // which may share a burst
			query := fmt.Sprintf("WorkflowId = %q", d.WorkflowID)
			request := &workflowservice.CountWorkflowExecutionsRequest{Query: query}
			count, failed := worldOf(c.t).temporal.CountWorkflow(ctx, request)
			if failed == nil && count.Count == 0 {
				failed = fmt.Errorf("no %s", d.WorkflowID)
			}
			err = errors.Join(err, failed)
		}
		return err
	})
	list := &workflowservice.ListWorkflowExecutionsRequest{}
	for {
		page, err := worldOf(c.t).temporal.ListWorkflow(ctx, list)
		must(c.t, err)
		for _, workflow := range page.Executions {
			whole := &history.History{}
			id := workflow.Execution
			const filter = enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
			events := worldOf(c.t).temporal.GetWorkflowHistory(ctx, id.WorkflowId, id.RunId, false, filter)
			for events.HasNext() {
				event, err := events.Next()
				must(c.t, err)
				whole.Events = append(whole.Events, event)
			}
			for _, message := range []proto.Message{workflow, whole} {
				content, err := proto.Marshal(message)
				must(c.t, err)
				all = append(all, text{id.WorkflowId, string(content)})
			}
		}
		if list.NextPageToken = page.NextPageToken; len(list.NextPageToken) == 0 {
			break
		}
	}
	c.wantFound(all, string(c.store))
	return all
}
