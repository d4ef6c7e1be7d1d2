package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxExport is the time that an export has, including the time in which the client reads it.
const maxExport = time.Minute

// written is the result of operations that have written their response.
type written struct{}

func (written) envelop() any { return written{} }

// export writes the parts of an export as one response, so that its memory does not depend on the size of the export.
// read calls write with the parts, see [listWriter]. An error before the first part is a normal error response. After
// it, export closes the connection in the middle of the response, so that no client takes a part for the whole: on
// errors, when the client has disconnected, and after maxExport.
func export[T any](
	ctx context.Context, s *Server, c *call, read func(ctx context.Context, write func(T) error) error,
) error {
	x := c.exchange
	// The time limit of other requests does not apply.
	deadline := time.Now().Add(s.exportTimeout)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	defer context.AfterFunc(x.open, cancel)()
	control := http.NewResponseController(x) // test recorders support no deadlines
	_ = control.SetReadDeadline(time.Time{}) // at that of the request, x.open would end
	_ = control.SetWriteDeadline(deadline)
	out := newListWriter[T](x)
	err := read(ctx, func(part T) error {
		if x.status == 0 {
			x.Header().Set("Content-Type", "application/json")
			x.WriteHeader(c.route.Status)
		}
		return out.write(part)
	})
	if err == nil {
		err = out.close()
	}
	if err == nil || x.status == 0 {
		return err
	}
	x.log.Warn().Err(err).Msg("export broken off")
	_ = control.SetWriteDeadline(time.Unix(1, 0)) // the compressor must not complete the response
	if !c.request.ProtoAtLeast(1, 1) {
		reset(control)
	}
	panic(http.ErrAbortHandler)
}

// reset resets the connection of a client of HTTP/1.0, which takes any other end of a connection for the end of the
// response.
func reset(control *http.ResponseController) {
	connection, _, err := control.Hijack()
	if err != nil {
		return // a test recorder
	}
	for {
		switch at := connection.(type) {
		case interface{ NetConn() net.Conn }: // *tls.Conn
			connection = at.NetConn()
		case interface{ Raw() net.Conn }: // *proxyproto.Conn
			connection = at.Raw()
		case interface{ SetLinger(sec int) error }: // *net.TCPConn
			_ = at.SetLinger(0) // it is closed in any case
			connection.Close()
			return
		default:
			connection.Close()
			return
		}
	}
}

// listWriter writes the body of a response whose data is a struct T with lists. The first part has the members that are
// not lists. Each further part has elements of lists, in the order of the members.
type listWriter[T any] struct {
	out  *jsontext.Encoder
	head reflect.Value // the first part
	at   int           // index of the member that is being written; -1 = none
}

func newListWriter[T any](to io.Writer) *listWriter[T] {
	return &listWriter[T]{out: jsontext.NewEncoder(to, jsontext.AllowDuplicateNames(true)), at: -1}
}

func (w *listWriter[T]) write(part T) error {
	value := reflect.ValueOf(part)
	if !w.head.IsValid() {
		w.head = value
		err := w.tokens(jsontext.BeginObject, jsontext.String("success"), jsontext.True, jsontext.String("data"),
			jsontext.BeginObject)
		if err != nil {
			return err
		}
	}
	for i := range value.NumField() {
		list := value.Field(i)
		if list.Kind() != reflect.Slice || list.Len() == 0 {
			continue
		}
		if i < w.at {
			return fmt.Errorf("the list %s is already closed", value.Type().Field(i).Name)
		}
		if err := w.advance(i); err != nil {
			return err
		}
		for j := range list.Len() {
			if err := json.MarshalEncode(w.out, list.Index(j).Interface(), json.Deterministic(true)); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance writes the members before the one with an index, and begins that one.
func (w *listWriter[T]) advance(to int) error {
	for w.at < to {
		if w.at >= 0 && w.head.Field(w.at).Kind() == reflect.Slice {
			if err := w.tokens(jsontext.EndArray); err != nil {
				return err
			}
		}
		if w.at++; w.at == w.head.NumField() {
			return nil
		}
		if err := w.begin(w.head.Type().Field(w.at), w.head.Field(w.at)); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a list, or writes another member.
func (w *listWriter[T]) begin(field reflect.StructField, value reflect.Value) error {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	if value.Kind() == reflect.Slice {
		return w.tokens(jsontext.String(name), jsontext.BeginArray)
	}
	if strings.Contains(options, "omitempty") && value.IsZero() {
		return nil
	}
	if err := w.tokens(jsontext.String(name)); err != nil {
		return err
	}
	return json.MarshalEncode(w.out, value.Interface(), json.Deterministic(true))
}

// close ends the body. There must have been a part.
func (w *listWriter[T]) close() error {
	if !w.head.IsValid() {
		return errors.New("an export without parts")
	}
	if err := w.advance(w.head.NumField()); err != nil {
		return err
	}
	return w.tokens(jsontext.EndObject, jsontext.EndObject)
}

func (w *listWriter[T]) tokens(tokens ...jsontext.Token) error {
	for _, token := range tokens {
		if err := w.out.WriteToken(token); err != nil {
			return err
		}
	}
	return nil
}
