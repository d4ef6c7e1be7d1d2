package boot

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/api"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// hangingServer accepts connections and never responds. It returns its port, counts the connections, and closes them
// when release is called.
func hangingServer(t *testing.T) (port int, connections *atomic.Int64, release func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	connections = &atomic.Int64{}
	released, end := context.WithCancel(t.Context())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			context.AfterFunc(released, func() { conn.Close() })
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, connections, end
}

// smtpAt returns a client of the mail server, or of another server at a port.
func smtpAt(t *testing.T, server *smtptest.Server, port int) *activities.SMTP {
	t.Helper()
	address := strings.Replace(server.URL(), ":"+strconv.Itoa(server.Port)+"?", ":"+strconv.Itoa(port)+"?", 1)
	smtp, err := activities.NewSMTP(app.NewSecret(address), server.Roots)
	if err != nil {
		t.Fatal(err)
	}
	return smtp
}

// The API does not connect to the mail server, so that a hanging server cannot delay a response. The mail stays queued,
// and a retry sends the link. The link leads to the base URL, regardless of the hosts that a request names.
func TestResetWhileTheMailServerHangs(t *testing.T) {
	t.Parallel()
	database := persistencetest.New(t)
	r := persistencetest.Open(t, database, "one.example")
	db, err := persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, Sealer: persistencetest.Keyring().Sealer(), Mails: true,
	})
	persistencetest.Must(t, err)
	defer db.Close()
	now := time.Now()
	server := api.New(api.Config{
		DB: db, Keyring: persistencetest.Keyring(), Issuer: "https://comanda.example", AccessTTL: time.Minute,
		RefreshTTL: time.Hour, Now: func() time.Time { return now },
	})
	post := func(path, body string) int {
		request := httptest.NewRequest(http.MethodPost, "https://comanda.example"+path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Host = "evil.example"
		for _, name := range []string{"X-Forwarded-Host", "X-Host", "Forwarded", "Origin", "Referer"} {
			request.Header.Set(name, "https://evil.example")
		}
		response := httptest.NewRecorder()
		server.ServeHTTP(response, request)
		return response.Code
	}
	working := smtptest.New(t, smtptest.Config{})
	port, connections, release := hangingServer(t)
	if code := post("/auth/password-reset", `{"email":"`+r.Owner.Email+`"}`); code != http.StatusAccepted {
		t.Fatalf("request for a link: got %d, want 202", code)
	}
	server.Close() // waits for the lookup in the background
	if n := connections.Load(); n != 0 {
		t.Errorf("connections of the API to the mail server: got %d, want 0", n)
	}
	jobs, err := db.ClaimJobs(t.Context(), now, app.JobClaim{Urgent: true, Limit: 10, PerQueue: 10, Lease: time.Hour})
	if err != nil || len(jobs) != 1 || jobs[0].Kind != app.JobMail {
		t.Fatalf("urgent jobs: got %+v and error %v, want one mail", jobs, err)
	}
	send := func(at time.Time, smtp *activities.SMTP) (activities.MailResult, error) {
		mails := activities.NewMails(db, smtp, "https://comanda.example", func() time.Time { return at },
			prometheus.NewRegistry())
		ctx, cancel := context.WithTimeout(t.Context(), activities.MailLimit)
		defer cancel()
		in := activities.MailInput{StoreID: jobs[0].StoreID, MailID: app.MailID(jobs[0].Subject)}
		return mails.Send(ctx, in, func(activities.MailResult) {})
	}
	release() // otherwise, the worker would wait for its timeout
	if result, err := send(now, smtpAt(t, working, port)); err == nil || connections.Load() == 0 {
		t.Errorf("mail to the hanging server: got %+v and %d connections, want a temporary error", result,
			connections.Load())
	}
	result, err := send(now.Add(activities.MailLease), smtpAt(t, working, working.Port))
	if err != nil || result.Status != app.MailSent || len(working.Messages()) != 1 {
		t.Fatalf("retry: got %+v and error %v, want a sent mail", result, err)
	}
	message := strings.ReplaceAll(string(working.Messages()[0].Data), "=\r\n", "")
	token := regexp.MustCompile(`https://comanda.example/account/reset#token=(?:3D)?([A-Za-z0-9_-]+)`).
		FindStringSubmatch(message)
	if token == nil || strings.Contains(message, "evil") {
		t.Fatalf("no link to the base URL in the mail:\n%s", message)
	}
	body := `{"token":"` + token[1] + `","password":"a quite new password"}`
	if code := post("/auth/password-reset/confirm", body); code != http.StatusOK {
		t.Errorf("reset with the mailed link: got %d, want 200", code)
	}
}
