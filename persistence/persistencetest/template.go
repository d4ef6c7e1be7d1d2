package persistencetest

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"
)

// Template is the content of databases of several tests. It is written once per process, so that each test pays only
// for a copy. The zero value is an unused template.
type Template struct {
	once sync.Once
	name string // of the database; empty until it is filled
}

// New creates a database for one test and drops it after the test, like the function [New]. The database is a copy of
// the one that fill has filled. Only the first call runs fill; fill must leave nothing that uses its database.
func (p *Template) New(t testing.TB, fill func(*Database)) *Database {
	t.Helper()
	server, err := cluster.start()
	require(t, err)
	p.once.Do(func() {
		name := "comanda_template_" + strings.ToLower(rand.Text()[:8])
		database := server.create(t, name, server.template)
		server.addTemplate(name)
		fill(database)
		database.Close() // PostgreSQL cannot copy a template that is in use
		p.name = name
	})
	if p.name == "" {
		t.Fatal("another test could not fill the template")
	}
	return server.lend(t, p.name)
}

func (s *server) addTemplate(name string) {
	s.creating.Lock()
	defer s.creating.Unlock()
	s.templates = append(s.templates, name)
}
