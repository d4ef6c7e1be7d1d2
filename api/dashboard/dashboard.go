// Package dashboard holds the web dashboard, built: a client of the REST API and of
// nothing else. Its source is beside it; `npm run build` makes dist.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed all:dist
var built embed.FS

// policy lets the pages use what this service serves and nothing else: no inline script, no
// inline style sheet, nothing from another host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// file is a built file with what is said of it.
type file struct {
	mediaType string
	content   []byte
	zipped    []byte // the same in gzip; nil where that saves nothing
}

// Handler serves the dashboard below /dashboard: its files, and for every other path the
// page, which knows by itself what to show.
func Handler() http.Handler {
	files := map[string]file{}
	err := fs.WalkDir(built, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := built.ReadFile(name)
		files[strings.TrimPrefix(name, "dist/")] = prepare(strings.TrimPrefix(name, "dist/"), content)
		return err
	})
	if err != nil {
		panic(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/dashboard"), "/")
		found, ok := files[name]
		if !ok {
			if strings.HasPrefix(name, "assets/") { // of another release: the page must be loaded anew
				http.NotFound(w, r)
				return
			}
			found = files["index.html"]
		}
		found.serve(w, r)
	})
}

func prepare(name string, content []byte) file {
	f := file{mediaType: mime.TypeByExtension(path.Ext(name)), content: content}
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // fails on an unknown level only
	z.Write(content)
	z.Close()
	if zipped.Len() < len(content) {
		f.zipped = zipped.Bytes()
	}
	return f
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Content-Type", f.mediaType)
	header.Set("Vary", "Accept-Encoding")
	content := f.content
	if f.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		content = f.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
