// Package trigger causes events in a sandbox through the API, for tests of receivers.
package trigger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// DishName is the name of the product that is ordered.
const DishName = "Demo dish"

// Client calls the API with a test key.
type Client struct {
	API  *url.URL // base URL of the service
	Key  string   // a test API key
	HTTP *http.Client
	Now  func() time.Time
}

// Supported lists the event types that [Client.Trigger] can cause, sorted.
func Supported() []string {
	var names []string
	for name := range recipes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Trigger causes an event of a type and returns a description of it. It changes nothing unless the key is a test key
// with the required scopes.
func (c *Client) Trigger(ctx context.Context, eventType string) (string, error) {
	recipe, ok := recipes[eventType]
	if !ok {
		return "", fmt.Errorf("cannot cause %q; supported are %s", eventType, strings.Join(Supported(), ", "))
	}
	if strings.HasPrefix(c.Key, livePrefix) {
		return "", errors.New("the API key is a live key; use a test key, whose events stay in the sandbox")
	}
	var s store
	if err := c.call(ctx, http.MethodGet, "/store", nil, &s); err != nil {
		return "", fmt.Errorf("cannot read the store: %w", err)
	}
	if s.Mode != "test" {
		return "", errors.New("the API key is a live key; use a test key, whose events stay in the sandbox")
	}
	for _, scope := range recipe.scopes {
		if !slices.Contains(s.Scopes, scope) {
			return "", fmt.Errorf("%s requires an API key with %s; this key lacks %s", eventType,
				strings.Join(recipe.scopes, " and "), scope)
		}
	}
	text, err := recipe.run(ctx, c, s)
	if err != nil {
		return "", fmt.Errorf("cannot cause %s: %w", eventType, err)
	}
	return text, nil
}

// livePrefix is the prefix of live keys.
const livePrefix = "svc_live_sk_"

// store is the part of GET /store that a recipe needs.
type store struct {
	Mode   string
	Scopes []string
	Views  []struct {
		Currency  string
		IsDefault bool
	} `json:"storeViews"`
}

func (s store) currency() string {
	for _, view := range s.Views {
		if view.IsDefault {
			return view.Currency
		}
	}
	return "EUR"
}

// call sends a request and decodes the data of the response into out, unless it is nil. A refusal is a [comanda.Error].
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	path, query, _ := strings.Cut(path, "?")
	address := c.API.JoinPath(path)
	address.RawQuery = query
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, address.String(), body)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Key)
	if in != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	if err != nil {
		return err
	}
	var result struct {
		Data  json.RawMessage
		Error *comanda.Error
	}
	err = json.Unmarshal(text, &result)
	if err != nil || result.Error == nil && response.StatusCode > 299 {
		return fmt.Errorf("%s %s: %s, and the body is not a response of Comanda; is %s its address?", method, path,
			response.Status, c.API)
	}
	if result.Error != nil {
		result.Error.Operation, result.Error.StatusCode = method+" "+path, response.StatusCode
		return result.Error
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(result.Data, out)
}
