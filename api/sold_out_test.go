package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestSoldOutUntil(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.stores["own"].product
	path := "/products/" + string(p.ID)
	until := app.At(w.now.Add(10 * time.Minute))
	patchUntil := func(value any) *response {
		t.Helper()
		return w.do("PATCH", path, w.tokens["MANAGER"], object{"soldOutUntil": value})
	}
	for _, bad := range []app.Time{app.At(w.now), app.At(w.now.Add(-time.Hour)), app.At(w.now.Add(367 * 24 * time.Hour))} {
		patchUntil(bad).refused(app.CodeValidationFailed, "soldOutUntil")
		w.do("POST", "/products", w.tokens["MANAGER"], altered(productBody(), object{"soldOutUntil": bad})).
			refused(app.CodeValidationFailed, "soldOutUntil")
	}
	patchUntil("soon").refused(app.CodeValidationFailed, "soldOutUntil")

	var got app.Product
	patchUntil(until).ok(200, &got)
	if got.Orderable || got.SoldOutUntil == nil || *got.SoldOutUntil != until || !got.IsAvailable {
		t.Errorf("sold out: got %+v, want available, not orderable until %s", got, until)
	}
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).
		refused(app.CodeProductUnavailable, "items[0].productId")
	w.do("POST", "/orders/quote", w.tokens["OWNER"], w.orderBody("own")).refused(app.CodeProductUnavailable)
	w.checkOrderable(p.ID, false)
	end := func(at time.Time, want time.Duration) {
		t.Helper()
		wait, err := w.db.EndSoldOut(t.Context(), at, w.stores["own"].id, p.ID)
		if err != nil || wait != want {
			t.Errorf("EndSoldOut at %s: got %s and error %v, want %s", at, wait, err, want)
		}
	}
	end(until.Add(-time.Minute), time.Minute)
	if jobs := w.jobs(app.JobSoldOut); !slices.Equal(jobs, []string{string(p.ID)}) {
		t.Errorf("jobs: got %v, want one of %s", jobs, p.ID)
	}

	// It can be ordered from that time on, even before the job has run; the unchanged value can be sent again.
	w.now = until.Time
	w.checkOrderable(p.ID, true)
	w.do("POST", "/orders", w.tokens["OWNER"], w.orderBody("own")).ok(201, nil)
	patchUntil(until).ok(200, &got)
	if got.Version != 2 {
		t.Errorf("the same soldOutUntil: got version %d, want 2", got.Version)
	}
	end(w.now, 0)
	end(w.now, 0)
	emitted := w.updates(p.ID)
	var changed []string
	for _, event := range emitted {
		changed = append(changed, fmt.Sprint(event.Version, event.Orderable, event.SoldOutUntil != nil, event.ChangedFields))
	}
	want := []string{"2 false true [orderable soldOutUntil]", "3 true false [orderable soldOutUntil]"}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("product.updated (-want +got): %s", diff)
	}
	if diff := cmp.Diff(emitted[1].Product, w.shown(p.ID)); diff != "" {
		t.Errorf("product.updated (-) and the product (+): %s", diff)
	}

	// Null ends it early; the job finds nothing to do. A product that is out of stock stays so.
	patchUntil(app.At(w.now.Add(time.Hour))).ok(200, nil)
	got = app.Product{}
	patchUntil(json.RawMessage("null")).ok(200, &got)
	if !got.Orderable || got.SoldOutUntil != nil {
		t.Errorf("after null: got %+v, want orderable", got)
	}
	end(w.now.Add(time.Hour), 0)
	if n := len(w.updates(p.ID)); n != 4 {
		t.Errorf("after null: got %d events product.updated, want 4", n)
	}
	empty := w.addStocked(0)
	w.do("PATCH", "/products/"+string(empty.ID), w.tokens["MANAGER"],
		object{"soldOutUntil": app.At(w.now.Add(time.Hour))}).ok(200, nil)
	if _, err := w.db.EndSoldOut(t.Context(), w.now.Add(time.Hour), w.stores["own"].id, empty.ID); err != nil {
		t.Fatal(err)
	}
	if emitted := w.updates(empty.ID); fmt.Sprint(emitted[1].ChangedFields) != "[soldOutUntil]" || emitted[1].Orderable {
		t.Errorf("out of stock: got %v and orderable %t, want [soldOutUntil] and false", emitted[1].ChangedFields,
			emitted[1].Orderable)
	}
	w.do("DELETE", path, w.tokens["OWNER"], nil).ok(204, nil)
	end(w.now, 0)
}

// jobs returns the subjects of the enqueued jobs of a kind.
func (w *world) jobs(kind app.JobKind) (subjects []string) {
	w.Helper()
	w.must(w.db.System().NewRaw("SELECT subject FROM jobs WHERE kind = ? ORDER BY subject", kind).
		Scan(w.Context(), &subjects))
	return subjects
}
