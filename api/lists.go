package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// list is an answer that is a list with its meta.
type list[T, M any] struct {
	items []T
	meta  M
}

// listBody is the body of such an answer.
type listBody[T, M any] struct {
	Success bool `json:"success"` // always true
	Data    []T  `json:"data"`
	Meta    M    `json:"meta"`
}

func (l list[T, M]) envelop() any { return listBody[T, M]{true, l.items, l.meta} }

// totalMeta is the meta of a list that is always whole.
type totalMeta struct {
	Total     int           `json:"total"`
	RequestID app.RequestID `json:"requestId"`
}

// pageMeta is the meta of a list with numbered pages (spec, GET /webhooks/:id/deliveries).
type pageMeta struct {
	Total      int           `json:"total"`
	Page       int           `json:"page"` // from 1
	Limit      int           `json:"limit"`
	TotalPages int           `json:"totalPages"`
	RequestID  app.RequestID `json:"requestId"`
}

// cursorMeta is the meta of every other list.
type cursorMeta struct {
	Limit      int           `json:"limit"`
	NextCursor *string       `json:"nextCursor"` // where the next page begins; null at the end
	RequestID  app.RequestID `json:"requestId"`
}

// cursors makes and reads the opaque cursors of lists: a position under a MAC that binds
// it to the list, the store and the filters.
type cursors struct{ keys []app.DerivedKey }

const macBytes = 16

func newCursors(keyring app.Keyring) cursors { return cursors{keyring.Derive("list cursor")} }

func (c cursors) seal(list, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(cursorMAC(c.keys[0], list, position), position...))
}

// open returns the position in a cursor of that very list; VALIDATION_FAILED for any other.
// No cursor is the start.
func (c cursors) open(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err == nil && len(sealed) > macBytes {
		position := string(sealed[macBytes:])
		for _, key := range c.keys {
			if hmac.Equal(sealed[:macBytes], cursorMAC(key, list, position)) {
				return position, nil
			}
		}
	}
	return "", app.Invalid("cursor", "is not a cursor of this list with these filters")
}

func cursorMAC(key app.DerivedKey, list, position string) []byte {
	mac := hmac.New(sha256.New, key.Bytes)
	mac.Write([]byte(list + "\x00" + position)) // a list's name has no NUL
	return mac.Sum(nil)[:macBytes]
}

// list names the list that the call asks for: route, id, store and filters, whatever the page.
func (c *call) list() string {
	filters, _ := url.ParseQuery(c.request.URL.RawQuery) // has been parsed before
	for _, name := range []string{"cursor", "limit", "storeId"} {
		filters.Del(name)
	}
	return c.route.path + "\n" + c.id() + "\n" + string(c.principal.StoreID) + "\n" + filters.Encode()
}

// paged makes a page of up to limit rows out of the up to limit+1 that were found; position
// tells where a row stands in the list.
func paged[T any](s *Server, c *call, rows []T, limit int, position func(T) string) list[T, cursorMeta] {
	meta := cursorMeta{Limit: limit, RequestID: c.exchange.id}
	if len(rows) > limit {
		rows = rows[:limit]
		next := s.cursors.seal(c.list(), position(rows[limit-1]))
		meta.NextCursor = &next
	}
	return list[T, cursorMeta]{rows, meta}
}

// timePosition is where a row stands in a list in the order of a time and an id, timeCursor
// the reverse.
func timePosition(at app.Time, id string) string {
	return strconv.FormatInt(at.UnixMicro(), 10) + " " + id
}

func timeCursor(position string) persistence.Cursor {
	micros, id, _ := strings.Cut(position, " ")
	at, _ := strconv.ParseInt(micros, 10, 64) // no cursor is ours unless it is a number
	return persistence.Cursor{At: time.UnixMicro(at).UTC(), ID: id}
}
