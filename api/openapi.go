package api

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"sync"

	"github.com/swaggest/swgui/v5emb"
	"go.yaml.in/yaml/v3"
)

// openAPI is the OpenAPI document of the routes. A test writes it: go test ./api -run TestOpenAPI -update
//
//go:embed openapi.yaml
var openAPI []byte

// openAPIAsJSON is the same document in JSON.
var openAPIAsJSON = sync.OnceValues(func() ([]byte, error) {
	var document any
	if err := yaml.Unmarshal(openAPI, &document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
})

//go:embed docs.html
var docsPage []byte

//go:embed docs.js
var docsScript []byte

// docsPolicy restricts the page to resources of this service.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// documentation returns the handlers, by path, of the pages to which the links of mails lead and, with docs, of the
// OpenAPI document and of Swagger UI, which is embedded in the binary.
func documentation(docs bool) map[string]http.Handler {
	pages := map[string]http.Handler{
		"/account/reset":         accountPage("text/html; charset=utf-8", resetPage),
		"/account/confirm-email": accountPage("text/html; charset=utf-8", confirmEmailPage),
		"/account/account.js":    accountPage("text/javascript; charset=utf-8", accountScript),
		"/account/account.css":   accountPage("text/css; charset=utf-8", accountStyle),
	}
	if !docs {
		return pages
	}
	assets := v5emb.New("", "", "/docs")
	maps.Copy(pages, map[string]http.Handler{
		"/openapi.yaml":              page("application/yaml", openAPI),
		"/openapi.json":              http.HandlerFunc(serveOpenAPIAsJSON),
		"/docs":                      page("text/html; charset=utf-8", docsPage),
		"/docs/docs.js":              page("text/javascript; charset=utf-8", docsScript),
		"/docs/swagger-ui.css":       assets,
		"/docs/swagger-ui-bundle.js": assets,
		"/docs/favicon-32x32.png":    assets,
	})
	return pages
}

// serveOpenAPIAsJSON converts the document at the first request: few clients need it.
func serveOpenAPIAsJSON(w http.ResponseWriter, r *http.Request) {
	content, err := openAPIAsJSON()
	if err != nil { // impossible: a test compares the conversion with the document
		http.Error(w, "the document cannot be converted", http.StatusInternalServerError)
		return
	}
	page("application/json", content).ServeHTTP(w, r)
}

func page(mediaType string, content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Write(content)
	})
}
