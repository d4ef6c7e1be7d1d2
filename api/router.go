package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/api/dashboard"
	"github.com/comanda-dev/comanda/app"
)

// newRouter returns a handler for the route table, the documentation and the dashboard. Other paths get NOT_FOUND. The
// router matches paths as the client sent them, without decoding: %2F in an id never selects another route.
func (s *Server) newRouter(table []route, docs bool) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refusal := app.Errorf(app.CodeNotFound, "unknown path")
		if docs {
			refusal.Message += "; see /docs for the operations"
		}
		s.refuse(w.(*exchange), r, refusal)
	})
	paths := map[string]map[string]http.Handler{}
	for _, rt := range table {
		methods, ok := paths[rt.Path]
		if !ok {
			methods = map[string]http.Handler{}
			paths[rt.Path] = methods
			router.Path(rt.Path).Handler(s.byMethod(methods))
		}
		serve := func(x *exchange, r *http.Request) { s.serve(x, r, &rt) }
		methods[rt.Method] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w.(*exchange), r) })
		if rt.compressed() {
			methods[rt.Method] = s.compress(serve)
		}
	}
	for path, page := range documentation(docs) {
		methods := map[string]http.Handler{http.MethodGet: page, http.MethodHead: page}
		paths[path] = methods
		router.Path(path).Handler(s.byMethod(methods))
	}
	s.words = map[string]bool{}
	for path := range paths {
		for word := range strings.SplitSeq(path, "/") {
			s.words[word] = true
		}
	}
	pages := dashboard.Handler(router.NotFoundHandler)
	shell := s.byMethod(map[string]http.Handler{http.MethodGet: pages, http.MethodHead: pages})
	router.Path("/dashboard").Handler(shell)
	router.PathPrefix("/dashboard/").Handler(shell)
	return router
}

// byMethod returns the handler of one path. The caller may add methods until the first request.
func (s *Server) byMethod(methods map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler, ok := methods[r.Method]; ok {
			handler.ServeHTTP(w, r)
			return
		}
		x := w.(*exchange)
		done, err := s.preflightWebsite(x, r)
		switch {
		case err != nil:
			s.refuse(x, r, err)
		case !done:
			s.refuse(x, r, methodNotAllowed(x, slices.Sorted(maps.Keys(methods))))
		}
	})
}
