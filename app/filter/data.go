package filter

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Data returns the data of an event for [Filter.Matches]. body is the envelope, in JSON. Whole numbers become integers,
// and all others floating-point numbers.
func Data(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var envelope map[string]any
	if err := decoder.Decode(&envelope); err != nil {
		return nil, err
	}
	data, ok := envelope["data"]
	if !ok {
		return nil, errors.New("the event has no data")
	}
	return withNumbers(data), nil
}

// withNumbers replaces the numbers of a decoded value.
func withNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole
		}
		fraction, _ := v.Float64() // an infinity if it is too large
		return fraction
	case map[string]any:
		for name, member := range v {
			v[name] = withNumbers(member)
		}
	case []any:
		for i, element := range v {
			v[i] = withNumbers(element)
		}
	}
	return value
}
