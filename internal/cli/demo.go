// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/mcprove/mcprove/contract"
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	var of outputFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See the whole job on a server inside mcprove",
		Long: `Record the contract of an embedded server, then check its next release against
it. Nothing is written and nothing is started: it is the real comparison on a
server that lives inside mcprove.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var tf targetFlags
			tf.defaults()
			ctx := cmd.Context()
			old, err := a.live(ctx, &tf, []string{"demo:"}, nil)
			if err != nil {
				return err
			}
			newer, err := a.live(ctx, &tf, []string{"demo:drift"}, nil)
			if err != nil {
				return err
			}
			if of.format == "text" {
				fmt.Fprintf(a.stdout, "$ mcprove contract snapshot demo:\nrecorded %s (digest %s)\n\n", inventory(old.surface), old.surface.Digest()[:12])
				fmt.Fprintf(a.stdout, "The server is released again. Which agents does that break?\n\n$ mcprove contract check demo:drift\n")
			}
			err = a.compare(comparison{
				verb: "contract check", target: "demo:drift", old: old.surface, new: newer.surface, words: newer.words, shown: true,
			}, &judgeFlags{}, &of, contractConfig{failOn: contract.Breaking}, false)
			if err != nil {
				return err
			}
			if of.format == "text" {
				fmt.Fprintf(a.stdout, "\nA check like this exits with 1, which stops a release in CI. Now yours:\n\n")
				fmt.Fprintf(a.stdout, "  mcprove contract snapshot -- npx -y my-mcp-server    # record; commit the file\n")
				fmt.Fprintf(a.stdout, "  mcprove contract check -- npx -y my-mcp-server       # hold the server to it\n")
			}
			return nil
		},
	}
	of.add(cmd)
	return cmd
}
