package openapi

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// files are the texts by resource. document.yaml is about the document as a whole, shared.yaml about members of several
// types.
//
//go:embed texts
var files embed.FS

// Texts is the texts and examples of a document. Clients read them; comments in Go are for developers of the service.
type Texts struct {
	Introduction   string `yaml:"-"`
	Tags           []Topic
	Servers        []Server
	Credentials    map[string]string // by the name of the security scheme
	Headers        map[string]string // of responses
	WebhookHeaders []Header          `yaml:"webhookHeaders"`
	Responses      struct{ Success, Existing, Received string }
	CSV            string
	Codes          map[string]string // error codes

	Phrases map[string]string // ${name} in a text means the phrase
	IDs     map[string]Member `yaml:"ids"` // members by the Go type of an identifier
	Members map[string]Member // members that have the same meaning in several types

	resource `yaml:"-"`

	mutex   sync.Mutex
	used    map[string]bool // places in the files
	missing map[string]bool // members without a text
}

// resource is the content of the file of a resource.
type resource struct {
	Operations map[string]OperationText // by operationId
	Types      map[string]TypeText      // by the name of the Go type, or of a schema without a Go type
	Events     map[string]string        // by event type
}

// Topic is a tag: a group of operations whose path begins with one of the segments.
type Topic struct {
	Name, Text string
	Segments   []string
}

// Server is an address of the API. A variable is a part of the URL in braces.
type Server struct{ URL, Text, Variable, Default, Meaning string }

// Header is a header of a request to a webhook.
type Header struct {
	Name, Text, Example string

	Placed bool // only events with a position have it
}

// OperationText is the texts of an operation.
type OperationText struct {
	Summary string // imperative, at most 60 characters
	Text    string // sorting, side effects and exceptions
	Stream  string // the content of a stream of server-sent events
	Example string // a part of that stream
}

// TypeText is the texts of a Go type. The parameters of an operation are members of the type of its request.
type TypeText struct {
	Schema  string            `yaml:"$schema"` // the name of the schema, if it does not follow from that of the type
	Text    string            `yaml:"$text"`   // a noun phrase that begins with an article
	Members map[string]Member `yaml:",inline"`
}

// Member is the text and an example of a member or a parameter. Numbers, times and enumerations need no example.
type Member struct {
	Text    string
	Example any
}

// UnmarshalYAML decodes a text, or a text and an example.
func (m *Member) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return node.Decode(&m.Text)
	}
	for i := 0; i < len(node.Content); i += 2 {
		if key := node.Content[i].Value; key != "text" && key != "example" {
			return fmt.Errorf("line %d: %q is neither text nor example", node.Line, key)
		}
	}
	type both Member
	return node.Decode((*both)(m))
}

// or completes a member by another one.
func (m Member) or(other Member) Member {
	if m.Text == "" {
		m.Text = other.Text
	}
	if m.Example == nil {
		m.Example = other.Example
	}
	return m
}

// ReadTexts reads the texts. The phrases are added to those in the files.
func ReadTexts(phrases map[string]string) (*Texts, error) {
	t := &Texts{used: map[string]bool{}, missing: map[string]bool{}}
	t.Operations, t.Types, t.Events = map[string]OperationText{}, map[string]TypeText{}, map[string]string{}
	introduction, err := files.ReadFile("texts/introduction.md")
	if err != nil {
		return nil, err
	}
	t.Introduction = strings.TrimSpace(string(introduction))
	entries, err := files.ReadDir("texts")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".yaml") {
			err = errors.Join(err, t.read(entry.Name()))
		}
	}
	if err != nil {
		return nil, err
	}
	maps.Copy(t.Phrases, phrases)
	return t, t.expand()
}

// read reads a file.
func (t *Texts) read(name string) error {
	text, err := files.ReadFile("texts/" + name)
	if err != nil {
		return err
	}
	var more resource
	target := any(&more)
	if name == "document.yaml" || name == "shared.yaml" {
		target = t
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	err = errors.Join(decoder.Decode(target), add(t.Operations, more.Operations), add(t.Types, more.Types),
		add(t.Events, more.Events))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func add[V any](all, more map[string]V) error {
	for name := range more {
		if _, twice := all[name]; twice {
			return fmt.Errorf("%s is in two files", name)
		}
	}
	maps.Copy(all, more)
	return nil
}

// expand replaces ${name} by phrases.
func (t *Texts) expand() error {
	var unknown error
	expand := func(text string) string {
		return os.Expand(text, func(name string) string {
			phrase, ok := t.Phrases[name]
			if !ok {
				unknown = errors.Join(unknown, fmt.Errorf("${%s} is not a phrase", name))
			}
			t.use("phrases", name)
			return phrase
		})
	}
	members := func(all map[string]Member) {
		for name, m := range all {
			all[name] = Member{expand(m.Text), m.Example}
		}
	}
	t.CSV = expand(t.CSV)
	members(t.Members)
	for _, of := range t.Types {
		members(of.Members)
	}
	for id, o := range t.Operations {
		o.Text = expand(o.Text)
		t.Operations[id] = o
	}
	return unknown
}

// use records that a text is used.
func (t *Texts) use(path ...string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.used[strings.Join(path, ".")] = true
}

// Operation returns the texts of an operation.
func (t *Texts) Operation(id string) OperationText {
	t.use("operations", id)
	return t.Operations[id]
}

// Event returns the text of an event type.
func (t *Texts) Event(name string) string {
	t.use("events", name)
	return t.Events[name]
}

// typeText returns the texts of a type, or of a schema without a Go type.
func (t *Texts) typeText(name string) TypeText {
	name, _, _ = strings.Cut(name, "[")
	t.use("types", name)
	return t.Types[name]
}

// own returns the text and the example that a struct or its embedded structs give a member.
func (t *Texts) own(of reflect.Type, name string) (found Member) {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of == nil || of.Kind() != reflect.Struct {
		return found
	}
	if m, ok := t.typeText(of.Name()).Members[name]; ok {
		structure, _, _ := strings.Cut(of.Name(), "[")
		t.use("types", structure, name)
		found = m
	}
	for i := range of.NumField() {
		if of.Field(i).Anonymous {
			found = found.or(t.own(of.Field(i).Type, name))
		}
	}
	return found
}

// shared returns the text and the example that a member shares with others: those of its type, if that is an
// identifier, completed with those of its name. own has the text and the example of this member only.
func (t *Texts) shared(own Member, of reflect.Type, name string) Member {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	id, isID := t.IDs[of.Name()]
	if isID {
		t.use("ids", of.Name())
	}
	if of.Kind() == reflect.Slice && t.IDs[of.Elem().Name()].Example != nil {
		id.Example = []any{t.IDs[of.Elem().Name()].Example}
	}
	byName, ok := t.Members[name]
	if unknown := own.or(id); ok && (unknown.Text == "" || unknown.Example == nil && byName.Example != nil) {
		t.use("members", name)
	}
	return id.or(byName)
}

// miss records a member without a text, with the struct that declares its field.
func (t *Texts) miss(of reflect.Type, field, name string) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	declared, _ := of.FieldByName(field)
	for _, i := range declared.Index[:len(declared.Index)-1] {
		of = of.Field(i).Type
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	structure, _, _ := strings.Cut(of.Name(), "[")
	t.missing[structure+"."+name] = true
}

// Missing returns the members of generated schemas that have no text, by type.
func (t *Texts) Missing() []string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return slices.Sorted(maps.Keys(t.missing))
}

// Unused returns the places in the files that no generated schema and no operation uses.
func (t *Texts) Unused() (unused []string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	check := func(path string) {
		if !t.used[path] {
			unused = append(unused, path)
		}
	}
	for name, of := range t.Types {
		check("types." + name)
		for member := range of.Members {
			check("types." + name + "." + member)
		}
	}
	each(t.Operations, "operations.", check)
	each(t.Events, "events.", check)
	each(t.Phrases, "phrases.", check)
	each(t.IDs, "ids.", check)
	each(t.Members, "members.", check)
	slices.Sort(unused)
	return unused
}

func each[V any](texts map[string]V, prefix string, check func(string)) {
	for name := range texts {
		check(prefix + name)
	}
}
