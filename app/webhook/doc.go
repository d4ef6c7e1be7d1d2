// Package webhook is for receivers of Comanda's webhooks: a [Verifier] tells with one call
// whether a request is genuine, and which [Event] it brings. It needs nothing but the
// standard library.
//
// An event may arrive more than once. Its id, which is signed as part of the body, tells
// duplicates; the header X-Webhook-Id is not signed and is not looked at.
package webhook
