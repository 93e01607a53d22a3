// SPDX-License-Identifier: Apache-2.0

package jsonx

import (
	"bytes"
	"encoding/json"
)

// MarshalGo writes a value of a user as encoding/json does, which is what their
// types are made for: omitempty leaves out zeros, a nil slice is null, json.Number
// is a number. It escapes nothing for HTML.
func MarshalGo(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// UnmarshalGo reads into a value of a user as encoding/json does.
func UnmarshalGo(raw []byte, v any) error { return json.Unmarshal(raw, v) }
