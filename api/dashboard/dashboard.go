// Package dashboard holds the web dashboard, built: a client of the REST API and of
// nothing else. Its source is beside it; `npm run build` makes dist.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
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

// policy lets the pages use what this service serves and nothing else: no inline script,
// nothing from another host, no style sheet but those that know the page's nonce.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'{{nonce}}; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// nonce stands in the page and in the policy where each answer has a random text.
const nonce = "{{nonce}}"

// file is a built file as it is, and in gzip where that is smaller.
type file struct{ plain, zipped []byte }

// Handler serves the dashboard below /dashboard: its files, and for every other path the
// page, which knows by itself what to show. Files that there are not are for missing.
func Handler(missing http.Handler) http.Handler {
	files := map[string]file{}
	err := fs.WalkDir(built, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := built.ReadFile(name)
		files[strings.TrimPrefix(name, "dist/")] = prepare(content)
		return err
	})
	page, ok := files["index.html"]
	if err != nil || !ok {
		panic("the dashboard is not built")
	}
	delete(files, "index.html")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/dashboard"), "/")
		header := w.Header()
		header.Set("Referrer-Policy", "no-referrer")
		if found, ok := files[name]; ok {
			header.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			header.Set("Content-Security-Policy", strings.ReplaceAll(policy, nonce, ""))
			found.serve(w, r)
			return
		}
		if strings.HasPrefix(name, "assets/") { // of another release: the page must be loaded anew
			missing.ServeHTTP(w, r)
			return
		}
		fresh := rand.Text()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", strings.ReplaceAll(policy, nonce, " 'nonce-"+fresh+"'"))
		w.Write(bytes.ReplaceAll(page.plain, []byte(nonce), []byte(fresh)))
	})
}

func prepare(content []byte) file {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // fails on an unknown level only
	z.Write(content)
	z.Close()
	if zipped.Len() >= len(content) {
		return file{plain: content}
	}
	return file{content, zipped.Bytes()}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	content := f.plain
	if f.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		content = f.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
