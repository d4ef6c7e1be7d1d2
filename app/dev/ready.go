package main

import "github.com/comanda-dev/comanda/app/dev/demo"

// Ready tells programs where everything is. It is written to ready.json when all is up (contract §6).
type Ready struct {
	APIURL            string `json:"apiUrl"`
	DashboardURL      string `json:"dashboardUrl"`
	TemporalUIURL     string `json:"temporalUiUrl"`
	TemporalAddress   string `json:"temporalAddress"`
	TemporalNamespace string `json:"temporalNamespace"`
	// DatabaseURL is what comanda serve and worker connect with.
	DatabaseURL string `json:"databaseUrl"`
	CAFile      string `json:"caFile"`

	// ReceiverURL, the secret with which it verifies, and AdminURL are missing with --infra.
	ReceiverURL    string `json:"receiverUrl,omitempty"`
	ReceiverSecret string `json:"receiverSecret,omitempty"`
	AdminURL       string `json:"adminUrl,omitempty"`

	// SocialURL is the issuer of ID tokens that the API takes, package social; missing with --infra, and when the
	// environment names providers.
	SocialURL string `json:"socialUrl,omitempty"`

	// Users, Stores, PlatformAdmin, Customer and APIKey are the demo's.
	Users         []demo.User    `json:"users,omitempty"`
	Stores        []demo.Store   `json:"stores,omitempty"`
	PlatformAdmin *demo.Account  `json:"platformAdmin,omitempty"`
	Customer      *demo.Customer `json:"customer,omitempty"`
	APIKey        string         `json:"apiKey,omitempty"`

	// OwnerDatabaseURL and Env are there with --infra alone: what comanda migrate connects with, and the environment
	// of comanda serve and worker.
	OwnerDatabaseURL string            `json:"ownerDatabaseUrl,omitempty"`
	Env              map[string]string `json:"env,omitempty"`
}
