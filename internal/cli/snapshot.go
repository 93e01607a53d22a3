// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/surface"
	"github.com/spf13/cobra"
)

func (a *app) snapshotCommand() *cobra.Command {
	var (
		tf     targetFlags
		file   string
		format string
		j      judgeFlags
	)
	cmd := &cobra.Command{
		Use:   "snapshot [flags] TARGET",
		Short: "Record what a server promises into a file to commit",
		Long: `Record everything that the server shows (tools, resources, templates, prompts,
capabilities, instructions) into one file. The file is the same for the same
surface on every machine: commit it. Recording again is the plain way to accept
changes. Nothing is written unless every listing could be read to its end.`,
		Example: `  mcprove contract snapshot -- npx -y @modelcontextprotocol/server-memory
  mcprove contract snapshot https://example.com/mcp -H 'Authorization: Bearer TOKEN'
  mcprove contract snapshot -f api.contract.json http://localhost:3000/mcp -- node server.js`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := textOrJSON(format); err != nil {
				return err
			}
			t, err := a.targetOf(cmd, &tf, args)
			if err != nil {
				return err
			}
			ignore, err := j.patterns(t.settings)
			if err != nil {
				return err
			}
			s, err := a.collect(cmd.Context(), &tf, t)
			if err != nil {
				return err
			}
			s = s.Without(ignore)
			data, err := s.Encode()
			if err != nil {
				return err
			}
			path := contractPath(file, t)
			if err := replaceable(path); err != nil {
				return err
			}
			changed, err := writeFile(path, data)
			if err != nil {
				return &Error{Exit: exitUsage, Code: "contract-not-written", Where: path, Message: err.Error(), Try: "choose another file with -f FILE"}
			}
			if format == "json" {
				return a.envelope("contract snapshot", t.name, tallies(s), s.Notes, "contract", struct {
					File      string   `json:"file"`
					Digest    string   `json:"digest"`
					Bytes     int      `json:"bytes"`
					Changed   bool     `json:"changed"`
					Revisions []string `json:"revisions"`
				}{path, s.Digest(), len(data), changed, s.Revisions})
			}
			a.notes(a.stderr, s.Notes)
			verb := "recorded"
			if !changed {
				verb = "unchanged:"
			}
			_, err = fmt.Fprintf(a.stdout, "%s %s in %s (revision %s, digest %s)\n", verb, inventory(s), path, strings.Join(s.Revisions, ", "), s.Digest()[:12])
			return err
		},
	}
	tf.add(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "contract `FILE` (default "+contractFile+")")
	cmd.Flags().StringArrayVar(&j.ignore, "ignore", nil, "leave out items that come and go: 'resources[uri=~^log://]' (repeatable)")
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json")
	return cmd
}

// tallies counts the items of a surface for the summary.
func tallies(s *surface.Surface) []report.Tally {
	var out []report.Tally
	for _, k := range surface.Kinds {
		out = append(out, report.Tally{Name: string(k), Count: len(s.Items(k))})
	}
	return out
}

// inventory counts what a surface shows: "9 tools, 1 resource".
func inventory(s *surface.Surface) string {
	var parts []string
	for _, k := range surface.Kinds {
		if n := len(s.Items(k)); n > 0 {
			parts = append(parts, plural(n, k.One()))
		}
	}
	if len(parts) == 0 {
		return "nothing listed"
	}
	return strings.Join(parts, ", ")
}
