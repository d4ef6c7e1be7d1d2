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

// maxPage is the number of bytes with which a page of a list ends, also if it has fewer rows than requested.
const maxPage = 4 << 20

// list is a list with its meta.
type list[T, M any] struct {
	items []T
	meta  M
}

// listBody is the response body of a list.
type listBody[T, M any] struct {
	Success bool `json:"success"`
	Data    []T  `json:"data"`
	Meta    M    `json:"meta"`
}

func (l list[T, M]) envelop() any { return listBody[T, M]{true, l.items, l.meta} }

// totalMeta is the meta of a list that is never paged.
type totalMeta struct {
	Total     int           `json:"total"`
	RequestID app.RequestID `json:"requestId"`
}

// pageMeta is the meta of a list with page numbers.
type pageMeta struct {
	Total      int           `json:"total"`
	Page       int           `json:"page"`
	Limit      int           `json:"limit"`
	TotalPages int           `json:"totalPages"`
	RequestID  app.RequestID `json:"requestId"`
}

// cursorMeta is the meta of a list with cursors.
type cursorMeta struct {
	Limit      int           `json:"limit"`
	NextCursor *string       `json:"nextCursor"`
	RequestID  app.RequestID `json:"requestId"`
}

// cursors seals and opens the opaque cursors of lists: a position with a MAC that binds it to the list,
// the store and the filters.
type cursors struct{ keys []app.DerivedKey }

const macBytes = 16

func newCursors(keyring app.Keyring) cursors { return cursors{keyring.Derive("list cursor")} }

func (c cursors) seal(list, position string) string {
	return base64.RawURLEncoding.EncodeToString(append(cursorMAC(c.keys[0], list, position), position...))
}

// open returns the position in a cursor of a list, "" for no cursor. It returns VALIDATION_FAILED for a
// cursor of another list.
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
	mac.Write([]byte(list + "\x00" + position)) // the name of a list has no NUL
	return mac.Sum(nil)[:macBytes]
}

// list returns the name of the requested list: route, id, store and filters.
func (c *call) list() string {
	filters, _ := url.ParseQuery(c.request.URL.RawQuery) // cannot fail: bind has parsed it
	for _, name := range []string{"cursor", "limit", "storeId"} {
		filters.Del(name)
	}
	return c.route.Path + "\n" + c.id() + "\n" + string(c.principal.StoreID) + "\n" + filters.Encode()
}

// paged returns a page of at most limit of the up to limit+1 rows. position returns the position of a row
// in the list.
func paged[T any](s *Server, c *call, rows []T, limit int, position func(T) string) list[T, cursorMeta] {
	return listPage(s, c, rows[:min(len(rows), limit)], limit, len(rows) > limit, position)
}

// listPage returns a page of rows. more reports whether further rows follow.
func listPage[T any](
	s *Server, c *call, rows []T, limit int, more bool, position func(T) string,
) list[T, cursorMeta] {
	meta := cursorMeta{Limit: limit, RequestID: c.exchange.id}
	if more {
		next := s.cursors.seal(c.list(), position(rows[len(rows)-1]))
		meta.NextCursor = &next
	}
	return list[T, cursorMeta]{rows, meta}
}

// timePosition returns the position of a row in a list that is sorted by a time and an id. timeCursor is
// its inverse.
func timePosition(at app.Time, id string) string {
	return strconv.FormatInt(at.UnixMicro(), 10) + " " + id
}

func timeCursor(position string) persistence.Cursor {
	micros, id, _ := strings.Cut(position, " ")
	at, _ := strconv.ParseInt(micros, 10, 64) // cannot fail: the MAC is valid
	return persistence.Cursor{At: time.UnixMicro(at).UTC(), ID: id}
}
