// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) contractCheckCommand() *cobra.Command {
	var (
		tf   targetFlags
		of   outputFlags
		j    judgeFlags
		file string
	)
	cmd := &cobra.Command{
		Use:   "check [flags] TARGET",
		Short: "Hold a server to its recorded contract",
		Long: `Compare what the server shows now with the contract file. Exit 1 when a change
breaks callers (with --strict also when one only changes what models read), 0
when the contract holds, 6 when it could not be compared whole.`,
		Example: `  mcprove contract check -- npx -y @modelcontextprotocol/server-memory
  mcprove contract check -o github --report sarif=mcprove.sarif -- ./my-server
  mcprove contract check --strict https://example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if of.format == "json" {
				a.judging = "contract check"
			}
			t, err := a.targetOf(cmd, &tf, args)
			if err != nil {
				return err
			}
			path := contractPath(file, t)
			old, err := readContract(path)
			if err != nil {
				return err
			}
			s, err := a.collect(cmd.Context(), &tf, t)
			if err != nil {
				return err
			}
			accept := firstOf(j.accept, t.settings.accept)
			return a.compare(comparison{
				verb: "contract check", target: t.name, old: old, new: s, words: t.words,
				contractPath: path, acceptPath: firstOf(accept, beside(path, acceptFile)), mustAccept: accept != "",
			}, &j, &of, t.settings, tf.verbose)
		},
	}
	tf.add(cmd)
	of.add(cmd)
	j.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "contract `FILE` (default "+contractFile+")")
	return cmd
}
