package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestRegisterCustomer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	before := len(w.events(own, app.EventCustomerCreated))
	var data loginCustomerOut
	a := w.do("POST", "/customer-auth/register", "", registration(own)).ok(201, &data)
	want := app.Customer{ID: data.Customer.ID, Email: "ada@example.com", FirstName: "Ada", LastName: "Lovelace", Phone: "+4915112345678",
		StoreID: w.stores["own"].id, Kind: app.CustomerRegistered, Version: 1, CreatedAt: app.At(noon), UpdatedAt: app.At(noon)}
	if diff := cmp.Diff(want, data.Customer); diff != "" || !strings.Contains(string(a.body.Data), `"loyaltyPoints":0,"totalOrders":0`) {
		t.Errorf("%s in %s", diff, a.body.Data)
	}
	refresh := w.checkCustomerLogin(a, own, data)

	events := w.events(own, app.EventCustomerCreated)
	at := slices.IndexFunc(events, func(body string) bool { return strings.Contains(body, `"email":"ada@example.com"`) })
	if len(events) != before+1 || at < 0 {
		t.Fatalf("%d new events", len(events)-before)
	}
	var event struct {
		StoreID app.StoreID  `json:"storeId"`
		Data    app.Customer `json:"data"`
	}
	w.must(json.Unmarshal([]byte(events[at]), &event))
	if event.StoreID != own || event.Data != want {
		t.Errorf("event %s", events[at])
	}
	for _, secret := range []string{password, data.AccessToken, refresh} {
		if strings.Contains(w.log.String(), secret) || strings.Contains(events[at], secret) {
			t.Errorf("%.12s… is in the log or the event", secret)
		}
	}

	// The address is taken in any case, but only in that store and not by a guest of that address.
	w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": "ADA@Example.com"})).refused(app.CodeEmailTaken)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["sibling"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration(w.stores["foreign"].id)).ok(201, nil)
	w.do("POST", "/customer-auth/register", "", registration("sto_none")).refused(app.CodeNotFound)
	guest := altered(w.orderBody("own"), object{"customer": object{"name": "Grace", "email": "grace@example.com"}})
	w.do("POST", "/orders", w.tokens["STAFF"], guest).ok(201, nil)
	var grace loginCustomerOut
	w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": "grace@example.com", "phone": nil})).ok(201, &grace)
	if grace.Customer.TotalOrders != 0 || grace.Customer.Phone != "" {
		t.Errorf("a guest's past is the account's: %+v", grace.Customer)
	}
}

func TestRegisterAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	w.server.timeout, w.server.passwords.maxWait = 2*time.Minute, 2*time.Minute // for slow machines
	before := len(w.events(own, app.EventCustomerCreated))
	var mu sync.Mutex
	answers := map[app.Code]int{}
	var wait sync.WaitGroup
	for i := range 50 {
		wait.Go(func() {
			email := []string{"ada@example.com", "ADA@example.com"}[i%2]
			a := w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"email": email}))
			mu.Lock()
			defer mu.Unlock()
			answers[a.body.Error.Code]++
		})
	}
	wait.Wait()
	// On a machine with much else to do, some wait too long for their turn to hash.
	if answers[""] != 1 || answers[app.CodeEmailTaken]+answers[app.CodeUnavailable] != 49 || answers[app.CodeEmailTaken] == 0 {
		t.Error(answers)
	}
	if n := len(w.events(own, app.EventCustomerCreated)) - before; n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestBadRegistrations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"].id
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nothing":                {object{"storeId": nil, "email": nil, "password": nil, "firstName": nil, "lastName": nil, "phone": nil}, "storeId|email|password|firstName|lastName"},
		"a store of no form":     {object{"storeId": "a b"}, "storeId"},
		"a store that is a list": {object{"storeId": []any{own}}, "storeId"},
		"an address without @":   {object{"email": "ada"}, "email"},
		"two addresses":          {object{"email": "a@example.com,b@example.com"}, "email"},
		"a line break":           {object{"email": "a@example.com\nBcc: b@example.com"}, "email"},
		"a long address":         {object{"email": strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 100) + "com"}, "email"},
		"an empty password":      {object{"password": ""}, "password"},
		"seven bytes":            {object{"password": "s3ven b"}, "password"},
		"1025 bytes":             {object{"password": strings.Repeat("x", 1025)}, "password"},
		"1026 bytes in 513":      {object{"password": strings.Repeat("é", 513)}, "password"},
		"a common password":      {object{"password": "password123"}, "password"},
		"in another case":        {object{"password": "PassWord123"}, "password"},
		"a password number":      {object{"password": 12345678}, "password"},
		"a blank name":           {object{"firstName": " \t"}, "firstName"},
		"a long name":            {object{"lastName": strings.Repeat("é", 101)}, "lastName"},
		"a number without +":     {object{"phone": "4915112345678"}, "phone"},
		"a phone null":           {object{"phone": json.RawMessage("null")}, "phone"},
		"points":                 {object{"loyaltyPoints": 100}, "loyaltyPoints"},
		"a role":                 {object{"role": "OWNER"}, "role"},
	} {
		a := w.do("POST", "/customer-auth/register", "", altered(registration(own), c.change))
		a.what = name
		a.refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
	}
	for i, good := range []string{"ächtbyt", strings.Repeat("é", 512), "  spaces  ", "11111111a", strings.Repeat("\u2028", 3)} {
		email := fmt.Sprintf("%d@example.com", i)
		w.do("POST", "/customer-auth/register", "", altered(registration(own), object{"password": good, "email": email})).ok(201, nil)
		login := func(password string) *answer {
			return w.do("POST", "/customer-auth/login", "", object{"storeId": own, "email": email, "password": password})
		}
		login(good).ok(200, nil)
		if trimmed := strings.TrimSpace(good); trimmed != good && trimmed != "" {
			login(trimmed).refused(app.CodeInvalidCredentials)
		}
	}
	for body, paths := range map[string]string{
		`{}`: "storeId|email|password",
		`{"storeId":"sto_1","email":1,"password":{}}`:                     "email|password",
		`{"storeId":"no id!","email":"a","password":"b","remember":true}`: "remember|storeId",
	} {
		w.do("POST", "/customer-auth/login", "", body).refused(app.CodeValidationFailed, strings.Split(paths, "|")...)
	}
	ada := w.addCustomer("own", "ada@example.com")
	w.do("POST", "/customer-auth/logout", ada.AccessToken, `{"everywhere":true}`).refused(app.CodeValidationFailed, "everywhere")
	for _, path := range []string{"/customer-auth/register", "/customer-auth/login", "/customer-auth/logout"} {
		w.do("POST", path, ada.AccessToken, `{}`, header("Sec-Fetch-Site", "cross-site")).refused(app.CodeCrossOrigin)
	}
}

func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	lines := strings.Fields(commonPasswords)
	if len(lines) != 1000 || len(commonPasswordSet()) != len(lines) {
		t.Errorf("%d lines, %d passwords", len(lines), len(commonPasswordSet()))
	}
	useless := func(p string) bool { return len(p) < 8 || p != strings.ToLower(p) }
	if i := slices.IndexFunc(lines, useless); i >= 0 {
		t.Errorf("%q can never match", lines[i])
	}
}
