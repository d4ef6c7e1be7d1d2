package app

// MaxClientIDs is the maximum number of client ids of a website per provider (docs/behaviour.md#social-login).
const MaxClientIDs = 10

// ClientIDs lists the client ids of a website at each provider of social logins. An ID token is valid for the website's
// stores only if it was issued for one of them.
type ClientIDs struct {
	Google   []string `json:"google"`
	Apple    []string `json:"apple"`
	Facebook []string `json:"facebook"`
}

// Of returns the list of a provider. It panics for an unknown provider.
func (c *ClientIDs) Of(provider Provider) *[]string {
	switch provider {
	case ProviderGoogle:
		return &c.Google
	case ProviderApple:
		return &c.Apple
	case ProviderFacebook:
		return &c.Facebook
	}
	panic("unknown provider " + string(provider))
}

// ClientIDsDiff lists the client ids of one provider that a change added and removed.
type ClientIDsDiff struct {
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
}
