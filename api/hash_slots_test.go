package api

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// The memory of the process limits the concurrent hashes to a quarter of it, and the processors do.
func TestSlotsByMemory(t *testing.T) {
	t.Parallel()
	processors := runtime.GOMAXPROCS(0)
	for memory, want := range map[uint64]int{
		0: processors, 1: 1, 75 << 20: 1, 2*76<<20 - 1: 1, 2 * 76 << 20: min(2, processors),
		math.MaxUint64: processors,
	} {
		if got := newPasswords(memory).most; got != want {
			t.Errorf("slots with %d bytes: got %d, want %d", memory, got, want)
		}
	}
}

// hashSlotsTest records the callers that got a slot.
type hashSlotsTest struct {
	*testing.T
	*hashSlots
	began chan string
	end   map[string]chan struct{}
}

func newHashSlotsTest(t *testing.T, most int) *hashSlotsTest {
	h := newHashSlots(most)
	h.maxWait = testTimeout
	return &hashSlotsTest{t, h, make(chan string, 2*maxQueue), map[string]chan struct{}{}}
}

// hash adds a caller, which waits or holds a slot until it is released. It returns when the caller is in the queue.
func (h *hashSlotsTest) hash(website app.WebsiteID, name string) {
	h.Helper()
	end := make(chan struct{})
	h.end[name] = end
	before := h.callers()
	go func() {
		leave, err := h.enter(h.Context(), website)
		if err != nil {
			h.Errorf("%s: got error %v, want a slot", name, err)
			return
		}
		h.began <- name
		<-end
		leave()
	}()
	for h.callers() == before {
		time.Sleep(time.Millisecond)
	}
}

// callers returns the number of slots that were taken so far, and of callers that wait.
func (h *hashSlotsTest) callers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.turns + len(h.waiting)
}

// next returns the next caller that gets a slot.
func (h *hashSlotsTest) next() string {
	h.Helper()
	select {
	case name := <-h.began:
		return name
	case <-time.After(testTimeout):
		h.Fatal("no caller got a slot in time")
		return ""
	}
}

// A website holds at most half of the slots, also while the others are free, and websites take turns.
func TestWebsitesTakeTurnsToHash(t *testing.T) {
	t.Parallel()
	h := newHashSlotsTest(t, 4)
	for i := range 6 {
		h.hash("hostile", fmt.Sprintf("hostile %d", i))
	}
	got := slices.Sorted(slices.Values([]string{h.next(), h.next()})) // they begin concurrently
	h.hash("", "unnamed")
	got = append(got, h.next())
	h.hash("neighbour", "neighbour 0")
	got = append(got, h.next())
	h.hash("neighbour", "neighbour 1")
	h.hash("third", "third")
	for _, ended := range []string{"unnamed", "hostile 0", "third"} {
		close(h.end[ended])
		got = append(got, h.next())
	}
	want := []string{
		"hostile 0", "hostile 1", "unnamed", "neighbour 0",
		"third",       // has not hashed yet
		"hostile 2",   // has waited for its turn since before "neighbour 0" began
		"neighbour 1", // the hostile website holds two slots again
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	for _, name := range []string{"hostile 1", "neighbour 0", "hostile 2", "neighbour 1"} {
		close(h.end[name])
	}
	for range 3 {
		close(h.end[h.next()])
	}
}

// Websites that come one after the other, each with one caller, take turns with a website that waits since before.
func TestNewWebsitesDoNotGoFirst(t *testing.T) {
	t.Parallel()
	h := newHashSlotsTest(t, 1)
	h.hash("", "unnamed 0")
	running := h.next()
	h.hash("", "unnamed 1")
	var got []string
	for i := range 3 {
		name := fmt.Sprint("new ", i)
		h.hash(app.WebsiteID(name), name)
		close(h.end[running])
		running = h.next()
		got = append(got, running)
	}
	if diff := cmp.Diff([]string{"new 0", "unnamed 1", "new 1"}, got); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	close(h.end[running])
	close(h.end[h.next()])
}

// A website fills at most half of the free places of the queue. A caller that gives up leaves it.
// Websites that fill the queue do not keep out one that does not wait yet.
func TestFullQueueAdmitsEachWebsite(t *testing.T) {
	t.Parallel()
	h := newHashSlotsTest(t, 1)
	h.hash("first", "first")
	h.next()
	for website := 0; len(h.waiting) < maxQueue; website++ {
		for i := range max((maxQueue-len(h.waiting))/2, 1) {
			h.hash(app.WebsiteID(fmt.Sprint(website)), fmt.Sprint(website, " ", i))
		}
	}
	if _, err := h.enter(t.Context(), "0"); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("full queue: got error %v, want UNAVAILABLE", err)
	}
	h.hash("quiet", "quiet")
	close(h.end["first"])
	for range maxQueue + 1 {
		close(h.end[h.next()])
	}
}

func TestQueueForHashesIsBounded(t *testing.T) {
	t.Parallel()
	h := newHashSlotsTest(t, 1)
	h.hash("hostile", "first")
	h.next()
	for i := range maxQueue / 2 {
		h.hash("hostile", fmt.Sprint(i))
	}
	if _, err := h.enter(t.Context(), "hostile"); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("full queue of a website: got error %v, want UNAVAILABLE", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.enter(gone, "neighbour"); !errors.Is(err, context.Canceled) {
		t.Errorf("caller that gives up: got error %v, want that of the context", err)
	}
	h.hash("neighbour", "neighbour")
	close(h.end["first"])
	if got := h.next(); got != "neighbour" {
		t.Errorf("next hash: got %s, want that of the neighbour", got)
	}
	full := newHashSlots(0)
	full.maxWait = time.Nanosecond
	if _, err := full.enter(t.Context(), "late"); app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("caller that waits too long: got error %v, want UNAVAILABLE", err)
	}
	close(h.end["neighbour"])
	for i := range maxQueue / 2 {
		h.next()
		close(h.end[fmt.Sprint(i)])
	}
	for h.inUse() {
		time.Sleep(time.Millisecond)
	}
}

func (h *hashSlotsTest) inUse() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.groups) > 0
}

// While the logins of a website's store fronts and users hold all slots that it can get, and others of it wait, a login
// to another website, and one that names none, compute their hash.
func TestLoginsOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.passwords.hashSlots = newHashSlots(4)
	w.server.passwords.maxWait = testTimeout
	began, release := make(chan struct{}, 10), make(chan struct{})
	w.server.passwords.runs = func() {
		began <- struct{}{}
		<-release
	}
	login := func(path, store string) chan *response {
		done := make(chan *response, 1)
		body := credentials("nobody@example.com", "x")
		if store != "" {
			body["storeId"] = w.stores[store].id
		}
		go func() { done <- w.do("POST", path, "", body) }()
		return done
	}
	slots := w.server.passwords.hashSlots
	ended := []chan *response{login("/customer-auth/login", "own"), login("/auth/login", "sibling")}
	<-began
	<-began
	ended = append(ended, login("/auth/login", "own"), login("/customer-auth/login", "sibling"))
	w.until("waiting logins", func() bool {
		slots.mu.Lock()
		defer slots.mu.Unlock()
		return len(slots.waiting) == 2
	})
	ended = append(ended, login("/customer-auth/login", "foreign"), login("/auth/login", ""))
	<-began
	<-began
	close(release)
	for _, done := range ended {
		(<-done).refused(app.CodeInvalidCredentials)
	}
}

// Passwords that a link or an invitation replaces or checks are hashed in slots of the website to which it belongs.
func TestLinksHashForTheirWebsite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.mailingServer(func(*Config) {})
	accounts := w.accounts()
	user, customer := accounts["user"], accounts["customer"]
	ours, theirs := user.asked(s), customer.asked(s)
	created, joined := w.invited(grace("STAFF")), w.invited(altered(grace("STAFF"), object{"email": "eve@example.com"}))
	w.withPassword("eve", nil, "foreign")
	slots := newHashSlots(2)
	slots.maxWait = testTimeout
	w.server.passwords.hashSlots = slots
	website := w.stores["own"].website
	leave, err := slots.enter(t.Context(), website)
	w.must(err)
	accept := func(token string) *response {
		return w.do("POST", "/auth/accept-invite", "", object{"token": token, "password": password})
	}
	requests := []func() *response{
		func() *response { return user.confirm(ours, otherPassword) },
		func() *response { return customer.confirm(theirs, otherPassword) },
		func() *response { return accept(created) },
		func() *response { return accept(joined) },
	}
	statuses := make(chan int)
	for _, request := range requests {
		go func() { statuses <- request().Code }()
	}
	w.until("hashes that wait for their website", func() bool {
		slots.mu.Lock()
		defer slots.mu.Unlock()
		g := slots.groups[website]
		return g != nil && g.waiting == len(requests)
	})
	w.do("POST", "/auth/login", "", credentials("nobody@example.com", "x")).refused(app.CodeInvalidCredentials)
	leave()
	for range requests {
		if status := <-statuses; status != 200 {
			t.Errorf("request after the wait: got status %d, want 200", status)
		}
	}
}
