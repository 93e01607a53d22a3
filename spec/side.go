// SPDX-License-Identifier: Apache-2.0

package spec

import "fmt"

// Side is one of the two peers of the protocol.
type Side uint8

// The two sides.
const (
	Client Side = iota + 1
	Server
)

// String returns "client" or "server".
func (s Side) String() string {
	switch s {
	case Client:
		return "client"
	case Server:
		return "server"
	}
	return fmt.Sprintf("side(%d)", uint8(s))
}

// Peer returns the other side, zero for no side.
func (s Side) Peer() Side {
	switch s {
	case Client:
		return Server
	case Server:
		return Client
	}
	return 0
}

// Direction says which way a message travels.
type Direction uint8

// The directions. Both is the union of the other two.
const (
	ClientToServer Direction = 1 << iota
	ServerToClient
	Both = ClientToServer | ServerToClient
)

// From returns the direction of what side s sends.
func From(s Side) Direction {
	switch s {
	case Client:
		return ClientToServer
	case Server:
		return ServerToClient
	}
	return 0
}

// Includes reports whether every way of o is a way of d.
func (d Direction) Includes(o Direction) bool { return o != 0 && d&o == o }

// String returns "client to server", "server to client" or "both".
func (d Direction) String() string {
	switch d {
	case ClientToServer:
		return "client to server"
	case ServerToClient:
		return "server to client"
	case Both:
		return "both"
	}
	return fmt.Sprintf("direction(%d)", uint8(d))
}
