package openapi

import (
	"bytes"
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// YAML encodes a document. It writes integers as JSON does: the library would write large ones in a form
// that some YAML parsers read as text.
func YAML(document map[string]any) ([]byte, error) {
	root := yaml.Node{Kind: yaml.MappingNode}
	for _, name := range []string{"openapi", "info", "servers", "tags", "paths", "webhooks", "components"} {
		integers, err := withIntegers(document[name])
		if err != nil {
			return nil, err
		}
		var key, value yaml.Node
		key.SetString(name)
		if err := value.Encode(integers); err != nil {
			return nil, err
		}
		root.Content = append(root.Content, &key, &value)
	}
	var encoded bytes.Buffer
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	err := encoder.Encode(&root)
	return encoded.Bytes(), err
}

// withIntegers returns a copy of a tree with integers instead of json.Number.
func withIntegers(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		copied := map[string]any{}
		for name, member := range v {
			value, err := withIntegers(member)
			if err != nil {
				return nil, err
			}
			copied[name] = value
		}
		return copied, nil
	case []any:
		copied := []any{}
		for _, element := range v {
			value, err := withIntegers(element)
			if err != nil {
				return nil, err
			}
			copied = append(copied, value)
		}
		return copied, nil
	case json.Number:
		return v.Int64()
	}
	return v, nil
}
