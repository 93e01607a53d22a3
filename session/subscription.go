// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"encoding/json"

	"github.com/mcprove/mcprove/wire"
)

// Subscription is one subscriptions/listen stream (modern era).
type Subscription struct{}

// Subscribe opens a subscriptions/listen stream with the given notifications
// filter and waits for its acknowledgement.
func (s *Session) Subscribe(ctx context.Context, filter json.RawMessage) (*Subscription, error) {
	return nil, nil
}

// Acknowledged is the notifications member of the acknowledgement: what the
// server honours.
func (u *Subscription) Acknowledged() json.RawMessage { return nil }

// Next returns the next notification of the subscription. It returns io.EOF
// after the server ended it properly, and a *transport.Error after a break.
func (u *Subscription) Next(ctx context.Context) (*wire.Frame, error) { return nil, nil }

// Close cancels the subscription and waits, within the context, for the
// server to end it.
func (u *Subscription) Close(ctx context.Context) error { return nil }
