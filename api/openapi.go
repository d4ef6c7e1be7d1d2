package api

import (
	_ "embed"
	"net/http"

	"github.com/swaggest/swgui/v5emb"
)

// openAPI describes the table of routes.go. A test makes it: go test ./api -update
//
//go:embed openapi.yaml
var openAPI []byte

//go:embed docs.html
var docsPage []byte

//go:embed docs.js
var docsScript []byte

// docsPolicy lets the page use what this service serves, and nothing else.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// documentation returns the pages beside the API: the OpenAPI document, and Swagger UI to
// read it with, which comes out of this binary whole.
func documentation() map[string]http.Handler {
	assets := v5emb.New("", "", "/docs")
	return map[string]http.Handler{
		"/openapi.yaml":              page("application/yaml", openAPI),
		"/docs":                      page("text/html; charset=utf-8", docsPage),
		"/docs/docs.js":              page("text/javascript; charset=utf-8", docsScript),
		"/docs/swagger-ui.css":       assets,
		"/docs/swagger-ui-bundle.js": assets,
		"/docs/favicon-32x32.png":    assets,
	}
}

func page(mediaType string, content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Write(content)
	})
}
