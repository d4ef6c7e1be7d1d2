// Package openapi generates the OpenAPI 3.1 document of the API.
//
// Package api passes its operations as an [API]; a test of package api writes api/openapi.yaml. Schemas
// follow from the Go types of requests and responses and from their tags. The folder texts has the texts and examples.
package openapi

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonschema6 "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/comanda-dev/comanda/app"
)

// API is the content of a document.
type API struct {
	Title, Version string

	License    string // an SPDX identifier
	Schemes    []Scheme
	Operations []Operation
	Events     []Event
	Schemas    Schemas
	Failures   map[int]any // examples of the error responses by status
}

// Scheme is a way to send a credential.
type Scheme struct {
	Name           string
	Cookie, Header string // its name; "" = the header Authorization
}

// Operation is one operation of an API.
type Operation struct {
	ID, Method, Path string
	Description      string

	Scheme    string       // the name of a Scheme; "" = no credential
	In        reflect.Type // the request: a struct with path, query, header and json tags
	CSV       bool         // the body is the array rows of In, or a CSV
	Headers   any          // a struct with the header tags of further request headers; nil = none
	Status    int          // of a success
	Existing  bool         // 200 instead, if the object existed before the request
	Out       any          // an empty body of a success; nil = none
	MediaType string       // of Out; "" = application/json
	SetCookie string       // a header of a success; "" = none
	Failures  []int        // statuses of error responses

	Bodyless    bool // the body can be absent
	Idempotent  bool // a success has the header that marks a repeated response
	RateLimited bool // a success has the headers that describe the limit of the credential
}

const (
	schemasAt   = "#/components/schemas/"
	responsesAt = "#/components/responses/"
	headersAt   = "#/components/headers/"
)

// Document returns the document as the tree of its JSON.
func (a API) Document() (map[string]any, error) {
	reflector := a.Schemas.Reflector()
	spec := reflector.SpecEns()
	spec.SetTitle(a.Title)
	spec.SetVersion(a.Version)
	texts := a.Schemas.Texts
	spec.SetDescription(texts.Introduction)
	license := openapi31.License{Name: a.License}
	spec.Info.WithLicense(*license.WithIdentifier(a.License))
	for _, server := range texts.Servers {
		spec.Servers = append(spec.Servers, server.object())
	}
	for _, topic := range texts.Tags {
		tag := openapi31.Tag{Name: topic.Name}
		spec.Tags = append(spec.Tags, *tag.WithDescription(topic.Text))
	}
	for _, scheme := range a.Schemes {
		text := texts.Credentials[scheme.Name]
		switch {
		case scheme.Cookie != "":
			spec.SetAPIKeySecurity(scheme.Name, scheme.Cookie, openapi.InCookie, text)
		case scheme.Header != "":
			spec.SetAPIKeySecurity(scheme.Name, scheme.Header, openapi.InHeader, text)
		default:
			spec.SetHTTPBearerTokenSecurity(scheme.Name, "JWT", text)
		}
	}
	if err := a.addFailures(reflector); err != nil {
		return nil, err
	}
	for _, o := range a.Operations {
		if err := o.add(reflector, texts, texts.tagOf(o.Path)); err != nil {
			return nil, errors.Join(errors.New(o.ID), err)
		}
	}
	for _, event := range a.Events {
		if err := event.add(reflector, texts); err != nil {
			return nil, errors.Join(errors.New(event.Type), err)
		}
	}
	for name, list := range a.Schemas.Lists {
		spec.ComponentsEns().WithSchemasItem(name, list.schema(texts.typeText(name).Text))
	}
	encoded, err := spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema6.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	document := tree.(map[string]any)
	a.declarePublic(document)
	a.Schemas.denullify(document)
	return document, a.addExamples(document)
}

// declarePublic states for each operation without a credential that it needs none. The library omits an empty list.
func (a API) declarePublic(document map[string]any) {
	paths := document["paths"].(map[string]any)
	for _, o := range a.Operations {
		if o.Scheme == "" {
			paths[o.Path].(map[string]any)[strings.ToLower(o.Method)].(map[string]any)["security"] = []any{}
		}
	}
}

// tagOf returns the name of the tag of operations with a path, "" if none has its first segment.
func (t *Texts) tagOf(path string) string {
	for _, topic := range t.Tags {
		if slices.Contains(topic.Segments, strings.Split(path, "/")[1]) {
			return topic.Name
		}
	}
	return ""
}

func (s Server) object() openapi31.Server {
	server := openapi31.Server{URL: s.URL}
	server.WithDescription(s.Text)
	if s.Variable != "" {
		variable := openapi31.ServerVariable{Default: s.Default}
		server.WithVariablesItem(s.Variable, *variable.WithDescription(s.Meaning))
	}
	return server
}

func (l List) schema(text string) map[string]any {
	keyword := "enum"
	if l.Open {
		keyword = "x-extensible-enum"
	}
	return map[string]any{"type": "string", keyword: l.Values, "description": text, "examples": l.Values[:1]}
}

// addFailures adds a response for each status of errors.
func (a API) addFailures(reflector *openapi31.Reflector) error {
	components := reflector.SpecEns().ComponentsEns()
	var failed error
	collect := func(name string, schema jsonschema.Schema) {
		simple, err := schema.ToSchemaOrBool().ToSimpleMap()
		components.WithSchemasItem(name, simple)
		failed = errors.Join(failed, err)
	}
	oc, err := reflector.NewOperationContext(http.MethodGet, "/")
	if err != nil {
		return err
	}
	_, err = reflector.Reflect(a.Schemas.Failure, openapi.WithOperationCtx(oc, true, openapi.InBody),
		jsonschema.RootRef, jsonschema.DefinitionsPrefix(schemasAt), jsonschema.CollectDefinitions(collect))
	for name, text := range a.Schemas.Texts.Headers {
		components.WithHeadersItem(name, headerOf(text))
	}
	used := map[int]bool{}
	for _, o := range a.Operations {
		for _, status := range o.Failures {
			used[status] = true
		}
	}
	for _, status := range slices.Sorted(maps.Keys(used)) {
		response := openapi31.Response{Description: http.StatusText(status)}
		failure := map[string]any{"$ref": schemasAt + a.Schemas.nameOf(reflect.TypeOf(a.Schemas.Failure), "")}
		response.WithContentItem("application/json", openapi31.MediaType{Schema: failure})
		headers := []string{"X-Request-Id"}
		switch status {
		case http.StatusUnauthorized:
			headers = append(headers, "WWW-Authenticate")
		case http.StatusConflict, http.StatusServiceUnavailable:
			headers = append(headers, "Retry-After")
		case http.StatusTooManyRequests:
			headers = append(headers, "Retry-After", "RateLimit-Policy", "RateLimit")
		}
		for _, name := range headers {
			response.WithHeadersItem(name, headerRef(name))
		}
		components.WithResponsesItem(failureName(status), openapi31.ResponseOrReference{Response: &response})
	}
	return errors.Join(failed, err)
}

// failureName returns the name of the error response with a status, such as NotFound.
func failureName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

func headerOf(description string) openapi31.HeaderOrReference {
	header := openapi31.Header{Schema: map[string]any{"type": "string"}}
	return openapi31.HeaderOrReference{Header: header.WithDescription(description)}
}

func headerRef(name string) openapi31.HeaderOrReference {
	return openapi31.HeaderOrReference{Reference: &openapi31.Reference{Ref: headersAt + name}}
}

// add adds an operation to the document of a reflector.
func (o Operation) add(reflector *openapi31.Reflector, texts *Texts, tag string) error {
	text := texts.Operation(o.ID)
	oc, err := reflector.NewOperationContext(o.Method, o.Path)
	if err != nil {
		return err
	}
	oc.SetID(o.ID)
	oc.SetSummary(text.Summary)
	oc.SetDescription(o.Description)
	oc.SetTags(tag)
	if o.Scheme != "" {
		oc.AddSecurity(o.Scheme)
	}
	oc.AddReqStructure(sampleOf(o.In))
	if o.Headers != nil {
		oc.AddReqStructure(o.Headers)
	}
	succeeds := func(status int, description string) {
		oc.AddRespStructure(o.Out, openapi.WithHTTPStatus(status), func(unit *openapi.ContentUnit) {
			unit.Description, unit.ContentType = description, o.MediaType
		})
	}
	succeeds(o.Status, texts.Responses.Success)
	if o.Existing {
		succeeds(http.StatusOK, texts.Responses.Existing)
	}
	for _, status := range o.Failures {
		response := openapi.WithReference(responsesAt + failureName(status))
		oc.AddRespStructure(nil, openapi.WithHTTPStatus(status), response)
	}
	if err := reflector.AddOperation(oc); err != nil {
		return err
	}
	return reflector.Spec.SetupOperation(o.Method, o.Path, func(operation *openapi31.Operation) error {
		if operation.RequestBody != nil {
			operation.RequestBody.RequestBody.WithRequired(!o.Bodyless)
		}
		if o.CSV {
			acceptRows(reflector.SpecEns().ComponentsEns(), operation.RequestBody.RequestBody, texts.CSV)
		}
		responses := operation.Responses.MapOfResponseOrReferenceValues
		success := responses[strconv.Itoa(o.Status)].Response
		headers := []string{"X-Request-Id"}
		if o.RateLimited {
			headers = append(headers, "RateLimit-Policy", "RateLimit")
		}
		if o.Idempotent {
			headers = append(headers, "Idempotent-Replayed")
		}
		if text.Example != "" {
			media := success.Content[o.MediaType]
			success.WithContentItem(o.MediaType, *media.WithExample(text.Example))
		}
		for _, name := range headers {
			success.WithHeadersItem(name, headerRef(name))
			if o.Existing {
				responses[strconv.Itoa(http.StatusOK)].Response.WithHeadersItem(name, headerRef(name))
			}
		}
		if o.SetCookie != "" {
			success.WithHeadersItem("Set-Cookie", headerOf(o.SetCookie))
		}
		return nil
	})
}

// acceptRows replaces the object with the member rows, as which the library describes a body, by the array itself and
// by CSV.
func acceptRows(components *openapi31.Components, body *openapi31.RequestBody, csv string) {
	const mediaType = "application/json"
	reference := body.Content[mediaType].Schema["$ref"].(string)
	name := strings.TrimPrefix(reference, schemasAt)
	rows := components.Schemas[name]["properties"].(map[string]any)["rows"].(map[string]any)
	delete(components.Schemas, name)
	body.WithContentItem(mediaType, openapi31.MediaType{Schema: rows})
	body.WithContentItem("text/csv", openapi31.MediaType{
		Schema: map[string]any{"type": "string", "description": csv},
	})
}

// sampleOf returns a value of a struct type in which no nullable is nil: the library does not look behind
// nil pointers to pointers.
func sampleOf(t reflect.Type) any {
	v := reflect.New(t).Elem()
	for _, field := range reflect.VisibleFields(t) {
		switch t := field.Type; {
		case clearable(t):
			v.FieldByIndex(field.Index).Set(reflect.New(t.Elem()))
		case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct &&
			t.Elem() != reflect.TypeFor[app.Time]():
			sample := reflect.New(t.Elem())
			sample.Elem().Set(reflect.ValueOf(sampleOf(t.Elem())))
			v.FieldByIndex(field.Index).Set(sample)
		}
	}
	return v.Interface()
}
