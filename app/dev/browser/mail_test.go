package browser

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/comanda-dev/comanda/activities/smtptest"
)

// mailedLink matches a link of an email to the account pages.
var mailedLink = regexp.MustCompile(`https://\S+/account/\S+#token=[A-Za-z0-9_-]+`)

// inbox serves the newest link that was mailed to the address in the query parameter `to`, or 404.
func inbox(server *smtptest.Server) http.Handler {
	decode := strings.NewReplacer("=\r\n", "", "=3D", "=") // quoted-printable
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, message := range slices.Backward(server.Messages()) {
			link := mailedLink.FindString(decode.Replace(string(message.Data)))
			if link != "" && slices.Contains(message.To, r.URL.Query().Get("to")) {
				_, _ = w.Write([]byte(link))
				return
			}
		}
		http.NotFound(w, r)
	})
}
