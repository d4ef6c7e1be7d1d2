// Package dashboard serves the web dashboard, a client of the REST API. It embeds the build in
// dist, which `npm run build` creates from the sources in this directory.
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
	"sync"
)

//go:embed all:dist
var built embed.FS

// policy is the Content-Security-Policy. It allows scripts, images and requests of this origin only,
// no inline scripts, and inline style sheets only with the nonce of the page. Images may come from any HTTPS server,
// because products have images of the restaurant's choice. The whole dashboard is one document, so the policy cannot
// differ by page. An image server learns the network address of the user, but no path (Referrer-Policy), and injected
// markup could load an image; it still cannot run scripts or send requests.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'{{nonce}}; img-src 'self' data: https:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// nonce is the placeholder in the page and the policy for the random nonce of each response.
const nonce = "{{nonce}}"

// file is a built file. zipped returns it compressed, or nil if gzip does not make it smaller.
type file struct {
	plain  []byte
	zipped func() []byte
}

// builtFiles returns the built files by their paths in dist. A file is compressed when it is first requested, once per
// process: this takes longer than the rest of the start.
var builtFiles = sync.OnceValue(func() map[string]file {
	files := map[string]file{}
	err := fs.WalkDir(built, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := built.ReadFile(name)
		zipped := sync.OnceValue(func() []byte { return compress(content) })
		files[strings.TrimPrefix(name, "dist/")] = file{content, zipped}
		return err
	})
	if err != nil || files[page].plain == nil {
		panic("the dashboard is not built: run npm run build in api/dashboard")
	}
	return files
})

// page is the document of the dashboard. It has a placeholder for the nonce.
const page = "index.html"

// Handler serves the dashboard below /dashboard. Every path that is not a built file gets the page,
// whose router selects the content. Unknown files below assets/ are passed to missing.
func Handler(missing http.Handler) http.Handler {
	files := builtFiles()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/dashboard"), "/")
		header := w.Header()
		header.Set("Referrer-Policy", "no-referrer")
		if found, ok := files[name]; ok && name != page {
			header.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			header.Set("Content-Security-Policy", strings.ReplaceAll(policy, nonce, ""))
			if strings.HasPrefix(name, "assets/") { // the name contains a hash of the content
				header.Set("Cache-Control", "public, max-age=31536000, immutable")
			}
			found.serve(w, r)
			return
		}
		if strings.HasPrefix(name, "assets/") { // a file of another release: the page must be reloaded
			missing.ServeHTTP(w, r)
			return
		}
		fresh := rand.Text()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", strings.ReplaceAll(policy, nonce, " 'nonce-"+fresh+"'"))
		w.Write(bytes.ReplaceAll(files[page].plain, []byte(nonce), []byte(fresh)))
	})
}

// compress returns the content in gzip, or nil if that is not smaller.
func compress(content []byte) []byte {
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // fails only for an unknown level
	z.Write(content)
	z.Close()
	if zipped.Len() >= len(content) {
		return nil
	}
	return zipped.Bytes()
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	content := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if zipped := f.zipped(); zipped != nil {
			header.Set("Content-Encoding", "gzip")
			content = zipped
		}
	}
	header.Set("Content-Length", strconv.Itoa(len(content)))
	w.Write(content)
}
