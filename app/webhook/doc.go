// Package webhook verifies Comanda's webhooks in receivers. One call of a [Verifier] checks the signature of a request
// and returns its [Event]. The package depends only on the standard library.
//
// An event may arrive more than once. Use its id to detect duplicates: the id is part of the signed body. The header
// X-Webhook-Id is not signed, and the package ignores it.
package webhook
