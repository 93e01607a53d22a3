// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"fmt"

	"github.com/mcprove/mcprove/spec"
)

func ExampleValidate() {
	message := []byte(`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":42}]}}`)
	answer := spec.MessageContext{From: spec.Server, Method: spec.MethodToolsCall}
	for _, v := range spec.Validate(spec.Rev20260728, answer, message) {
		fmt.Println(v)
	}
	// Output:
	// /result/content/0/text: expected string, found number 42
}

func ExampleValidateDefinition() {
	vs, err := spec.ValidateDefinition(spec.Rev20251125, "Tool", []byte(`{"name":"add","inputSchema":{"type":"array"}}`))
	fmt.Println(vs, err)
	// Output:
	// [/inputSchema/type: expected "object", found string "array"] <nil>
}

func ExampleMethodAt() {
	for _, r := range spec.All() {
		m, ok := spec.MethodAt(spec.MethodElicit, r)
		if !ok {
			fmt.Println(r, "-")
			continue
		}
		fmt.Println(r, m.Kind, m.Direction)
	}
	// Output:
	// 2024-11-05 -
	// 2025-03-26 -
	// 2025-06-18 request server to client
	// 2025-11-25 request server to client
	// 2026-07-28 input request server to client
}

func ExampleErrorCode() {
	e, _ := spec.ErrorCode(spec.CodeUnsupportedVersion, spec.Rev20260728)
	fmt.Println(e.Name, e.Status, e.Data)
	// Output:
	// UnsupportedProtocolVersion 400 [{supported true} {requested true}]
}

func ExampleEncodeHeaderValue() {
	for _, name := range []string{"get_weather", "wetter_für", "=?base64?x?="} {
		fmt.Println(spec.EncodeHeaderValue(name))
	}
	// Output:
	// get_weather
	// =?base64?d2V0dGVyX2bDvHI=?=
	// =?base64?PT9iYXNlNjQ/eD89?=
}

func ExampleParamHeaders_Fields() {
	schema := []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"price":{"type":"number","x-mcp-header":"Price"}}}`)
	headers, _ := spec.ParseParamHeaders(schema)
	for _, f := range headers.Faults {
		fmt.Println(f.Pointer, f.Detail)
	}
	fields, err := headers.Fields([]byte(`{"region":"eu","price":3.5}`))
	fmt.Println(fields, err)
	// Output:
	// /properties/price/x-mcp-header an annotated property must have type string, integer or boolean, found number
	// [{Mcp-Param-Region eu}] <nil>
}
