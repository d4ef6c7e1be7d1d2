package api

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// A platform administrator sees the stores, owners, pending owner invitations and plan usage of a website.
func TestWebsiteDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.now = w.now.Add(time.Minute)
	own, sibling, sandbox := w.stores["own"], w.stores["sibling"], w.sandbox()
	w.invited(altered(grace("STAFF"), object{"email": "helper@example.com"}))
	w.invited(altered(grace("OWNER"), object{"email": "partner@example.com"}))
	w.exec("UPDATE users SET disabled_at = now() WHERE id = $1", w.users["LONER"].ID)
	w.exec("UPDATE websites SET plan = 'GROW' WHERE id = $1", own.website)
	var got app.WebsiteDetails
	w.do("GET", "/platform/websites/"+string(own.website), w.tokens["PLATFORM"], nil).ok(200, &got)
	var stores []app.StoreID
	for _, store := range got.Stores {
		stores = append(stores, store.StoreID)
		if len(store.StoreViews) != 2 || !store.StoreViews[0].IsDefault || store.WebsiteID != own.website {
			t.Errorf("store: got %+v, want its two views, the default first", store)
		}
	}
	if diff := cmp.Diff([]app.StoreID{own.id, sibling.id, sandbox}, stores); diff != "" {
		t.Errorf("stores (-want +got):\n%s", diff)
	}
	owners := map[string]app.WebsiteOwner{}
	for _, owner := range got.Owners {
		owners[owner.Name] = owner
	}
	if diff := cmp.Diff(app.WebsiteOwner{
		ID: w.users["OWNER"].ID, Email: "owner@example.com", Name: "OWNER", StoreIDs: []app.StoreID{own.id, sibling.id},
	}, owners["OWNER"]); diff != "" || !owners["LONER"].Disabled || len(owners["LONER"].StoreIDs) != 1 ||
		len(owners) != 5 { // each user is OWNER of the sibling
		t.Errorf("owners: got %+v, want five, LONER disabled with one store; OWNER (-want +got):\n%s", owners, diff)
	}
	if len(got.Invitations) != 1 || got.Invitations[0].Email != "partner@example.com" {
		t.Errorf("invitations: got %+v, want the one of an OWNER", got.Invitations)
	}
	if got.PlanUsage.Plan != app.PlanGrow || got.PlanUsage.Limit == nil || *got.PlanUsage.Limit != 2000 ||
		got.Domain != "one.test" || got.PlanManagedBy != app.PlanManagedByOwner {
		t.Errorf("got %+v, want the plan GROW with its limit", got)
	}
	for _, id := range []string{"web_none", "a%2Fb", string(own.id)} {
		w.do("GET", "/platform/websites/"+id, w.tokens["PLATFORM"], nil).refused(app.CodeNotFound)
	}
}

// The plan of a website that the platform manages cannot be changed by its OWNER.
func TestPlatformManagesAPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/platform/websites/" + string(w.stores["own"].website)
	w.do("PATCH", path, w.tokens["PLATFORM"], object{"plan": "GROW", "planManagedBy": "PLATFORM"}).ok(200, nil)
	for _, plan := range []app.Plan{app.PlanEnterprise, app.PlanGrow} {
		w.do("PATCH", "/billing", w.tokens["OWNER"], object{"plan": plan}).refused(app.CodeConflict)
	}
	var usage billingOut
	w.do("GET", "/billing", w.tokens["OWNER"], nil).ok(200, &usage)
	if usage.Plan != app.PlanGrow {
		t.Errorf("plan: got %s, want GROW", usage.Plan)
	}
	w.do("PATCH", path, w.tokens["PLATFORM"], object{"planManagedBy": "OWNER"}).ok(200, nil)
	w.do("PATCH", "/billing", w.tokens["OWNER"], object{"plan": "ENTERPRISE"}).ok(200, nil)
}

// Of two concurrent requests for the same domain, one succeeds.
func TestOneDomainForTwoWebsites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	codes := map[app.Code]int{}
	var lock sync.Mutex
	var wait sync.WaitGroup
	for _, store := range []string{"own", "foreign"} {
		wait.Go(func() {
			a := w.do("PATCH", "/platform/websites/"+string(w.stores[store].website), w.tokens["PLATFORM"],
				object{"domain": "three.test"})
			lock.Lock()
			defer lock.Unlock()
			codes[a.body.Error.Code]++
		})
	}
	wait.Wait()
	if diff := cmp.Diff(map[app.Code]int{"": 1, app.CodeConflict: 1}, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}

// The first OWNER of a website can be invited again, to any of its stores, and the platform's invitation does not
// end with an OWNER.
func TestInviteOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.tokens["PLATFORM"]
	var opened openWebsiteOut
	w.do("POST", "/platform/websites", admin, websiteBody("trattoria.test")).ok(201, &opened)
	website := "/platform/websites/" + string(opened.ID)
	owner := object{"email": "new-owner@trattoria.test", "name": "Ada", "storeId": opened.StoreID}
	var again invitationOut
	w.do("POST", website+"/invite-owner", admin, owner).ok(201, &again)
	if again.Role != app.RoleOwner || again.InvitedBy.ID != w.users["PLATFORM"].ID || again.Token == "" {
		t.Errorf("invited again: got %+v, want an OWNER invited by %s, with a token", again, w.users["PLATFORM"].ID)
	}
	w.do("POST", "/auth/accept-invite", "", accept(opened.Invitation.Token, goodPassword)).
		refused(app.CodeTokenInvalid)
	var details app.WebsiteDetails
	w.do("GET", website, admin, nil).ok(200, &details)
	if diff := cmp.Diff([]app.Invitation{again.Invitation}, details.Invitations); diff != "" {
		t.Errorf("invitations of the website (-want +got):\n%s", diff)
	}
	var in loginOut
	w.do("POST", "/auth/accept-invite", "", accept(again.Token, goodPassword)).ok(200, &in)
	w.do("POST", website+"/invite-owner", admin, owner).refused(app.CodeConflict)

	// A store without members, whose owner is invited afterwards; the sandbox means the store.
	var added app.Store
	w.do("POST", website+"/stores", admin, storeBody()).ok(201, &added)
	w.do("POST", website+"/stores", admin, altered(storeBody(), object{"countryCode": "XX"})).
		refused(app.CodeValidationFailed, "countryCode")
	w.do("GET", "/users?storeId="+string(added.StoreID), in.AccessToken, nil).refused(app.CodeStoreMismatch)
	w.do("POST", website+"/invite-owner", admin, altered(owner, object{"storeId": added.StoreID})).ok(201, &again)
	w.do("POST", "/auth/accept-invite", "", accept(again.Token, goodPassword)).ok(200, &in)
	if len(in.Stores) != 2 {
		t.Errorf("stores of the owner: got %+v, want 2", in.Stores)
	}

	for path, change := range map[string]object{
		"storeId": {"storeId": w.stores["own"].id}, "email": {"email": "nobody"}, "name": {"name": ""},
	} {
		w.do("POST", website+"/invite-owner", admin, altered(owner, change)).refused(app.CodeValidationFailed, path)
	}
	w.do("POST", website+"/invite-owner", admin, altered(owner, object{"email": "PLATFORM@example.com"})).
		refused(app.CodeValidationFailed, "email")
	for _, path := range []string{"/platform/websites/web_none", "/platform/websites/a%2Fb"} {
		w.do("POST", path+"/invite-owner", admin, owner).refused(app.CodeNotFound)
		w.do("POST", path+"/stores", admin, storeBody()).refused(app.CodeNotFound)
	}
}

// An invitation of the platform does not depend on the roles of its inviter. An OWNER of the store can withdraw it.
func TestInvitationOfThePlatform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := w.stores["own"]
	invite := func(email string) (out invitationOut) {
		t.Helper()
		w.do("POST", "/platform/websites/"+string(own.website)+"/invite-owner", w.tokens["PLATFORM"],
			object{"email": email, "name": "Ada", "storeId": own.id}).ok(201, &out)
		return out
	}
	kept, withdrawn := invite("kept@example.com"), invite("withdrawn@example.com")
	w.do("DELETE", "/users/"+string(w.users["LONER"].ID), w.tokens["OWNER"], nil).ok(204, nil)
	w.exec("UPDATE users SET disabled_at = now() WHERE id = $1", w.users["PLATFORM"].ID)
	w.do("DELETE", "/invitations/"+string(withdrawn.ID), w.tokens["OWNER"], nil).ok(204, nil)
	w.do("POST", "/auth/accept-invite", "", accept(withdrawn.Token, goodPassword)).refused(app.CodeTokenInvalid)
	w.do("POST", "/auth/accept-invite", "", accept(kept.Token, goodPassword)).ok(200, nil)
}

// A member of a store becomes its OWNER by the platform's invitation.
func TestPlatformMakesAMemberOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withPassword("manager2", nil, "own")
	var out invitationOut
	w.do("POST", "/platform/websites/"+string(w.stores["own"].website)+"/invite-owner", w.tokens["PLATFORM"],
		object{"email": "manager2@example.com", "name": "Ada", "storeId": w.stores["own"].id}).ok(201, &out)
	var in loginOut
	w.do("POST", "/auth/accept-invite", "", accept(out.Token, password)).ok(200, &in)
	if in.Stores[0].Role != app.RoleOwner {
		t.Errorf("role: got %s, want OWNER", in.Stores[0].Role)
	}
}

// An administrator of the platform withdraws any pending invitation of an OWNER to a website, and no other one.
func TestPlatformWithdrawsInvitations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, own := w.tokens["PLATFORM"], w.stores["own"]
	path := "/platform/websites/" + string(own.website)
	var platforms, owners, staff invitationOut
	w.do("POST", path+"/invite-owner", admin, object{"email": "a@example.com", "name": "A", "storeId": own.id}).
		ok(201, &platforms)
	w.do("POST", "/users", w.tokens["OWNER"], altered(grace("OWNER"), object{"email": "b@example.com"})).ok(201, &owners)
	w.do("POST", "/users", w.tokens["OWNER"], altered(grace("STAFF"), object{"email": "c@example.com"})).ok(201, &staff)
	var details app.WebsiteDetails
	w.do("GET", path, admin, nil).ok(200, &details)
	if len(details.Invitations) != 2 {
		t.Errorf("pending invitations: got %+v, want 2", details.Invitations)
	}
	foreign := "/platform/websites/" + string(w.stores["foreign"].website)
	for _, id := range []string{string(staff.ID), "inv_none", "a%2Fb"} {
		w.do("DELETE", path+"/invitations/"+id, admin, nil).refused(app.CodeNotFound)
	}
	for _, invitation := range []invitationOut{platforms, owners} {
		w.do("DELETE", foreign+"/invitations/"+string(invitation.ID), admin, nil).refused(app.CodeNotFound)
		w.do("DELETE", path+"/invitations/"+string(invitation.ID), admin, nil).ok(204, nil)
		w.do("DELETE", path+"/invitations/"+string(invitation.ID), admin, nil).refused(app.CodeNotFound)
		w.do("POST", "/auth/accept-invite", "", accept(invitation.Token, goodPassword)).refused(app.CodeTokenInvalid)
	}
	w.do("POST", "/auth/accept-invite", "", accept(staff.Token, goodPassword)).ok(200, nil)
}
