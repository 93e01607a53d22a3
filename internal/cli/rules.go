// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/mcprove/mcprove/internal/check"
	"github.com/mcprove/mcprove/report"
	"github.com/mcprove/mcprove/rule"
	"github.com/spf13/cobra"
)

func (a *app) rulesCommand() *cobra.Command {
	var format, family string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List every rule and kind of change that mcprove knows",
		Example: `  mcprove rules
  mcprove rules --format json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			infos := registry().All()
			if err := textOrJSON(format); err != nil {
				return err
			}
			if format == "json" {
				rows := []ruleRow{}
				for _, i := range infos {
					if family == "" || i.Family == family {
						rows = append(rows, rowOf(i))
					}
				}
				return a.envelope("rules", "", []report.Tally{{Name: "rules", Count: len(rows)}}, nil, "rules", rows)
			}
			shown := 0
			for _, i := range infos {
				if family == "" || i.Family == family {
					fmt.Fprintf(a.stdout, "%-50s %s\n", i.ID, i.Title)
					shown++
				}
			}
			if shown == 0 {
				return usage("--family", "families: contract, check, exceptions", "no rule is of family %q", family)
			}
			_, err := fmt.Fprintf(a.stdout, "\n%d rules; mcprove explain ID tells more\n", shown)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json")
	cmd.Flags().StringVar(&family, "family", "", "only the rules of one family: contract, check, exceptions")
	return cmd
}

// ruleRow is a rule in JSON.
type ruleRow struct {
	ID     string `json:"id"`
	Family string `json:"family"`
	Level  string `json:"level"`
	Title  string `json:"title"`
	Why    string `json:"why"`
	Fix    string `json:"fix"`
	Detail string `json:"detail"`

	Basis     string   `json:"basis"`
	Section   string   `json:"section"`
	Revisions []string `json:"revisions"`
	Transport string   `json:"transport"`
	// Status is the hardest that a finding may have; empty where the verb decides.
	Status string `json:"status"`
}

func rowOf(i rule.Info) ruleRow {
	r := ruleRow{
		ID: i.ID, Family: i.Family, Level: i.Level, Title: i.Title, Why: i.Why, Fix: i.Fix, Detail: i.Detail,
		Basis: string(i.Basis), Section: i.Section, Revisions: i.Revisions, Transport: i.Transport,
	}
	if r.Revisions == nil {
		r.Revisions = []string{}
	}
	if i.Family == check.Family {
		r.Status = i.Severity().String()
	}
	return r
}

func (a *app) explainCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "explain ID",
		Short:   "Explain a rule or kind of change",
		Example: "  mcprove explain argument-now-required",
		Args:    cobra.ExactArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, i := range registry().All() {
				ids = append(ids, i.ID+"\t"+i.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			r := registry()
			i, ok := r.Lookup(args[0])
			if !ok {
				try := "mcprove rules lists them all"
				if near := r.Nearest(args[0]); len(near) > 0 {
					try = "did you mean " + strings.Join(near, ", ") + "?"
				}
				return usage("", try, "there is no rule %q", args[0])
			}
			if err := textOrJSON(format); err != nil {
				return err
			}
			if format == "json" {
				return a.envelope("explain", "", nil, nil, "rule", rowOf(i))
			}
			_, err := fmt.Fprint(a.stdout, explanation(i))
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "format", "o", "text", "text or json")
	return cmd
}

// explanation is the text of a rule, the same here and in the documentation.
func explanation(i rule.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n\n%s.\n\n", i.ID, i.Level, upperFirst(i.Title))
	fmt.Fprintf(&b, "Why it matters: %s.\n", i.Why)
	fmt.Fprintf(&b, "What to do:     %s.\n", i.Fix)
	if i.Section != "" {
		fmt.Fprintf(&b, "Where it stands: %s (by %s)\n", i.Section, i.Basis)
	}
	if i.Family == check.Family {
		where := "stdio and HTTP"
		if i.Transport != "" {
			where = i.Transport
		}
		fmt.Fprintf(&b, "Judged:         over %s, in %s; the hardest finding is %s\n", where, strings.Join(i.Revisions, ", "), i.Severity())
	}
	if i.Detail != "" {
		fmt.Fprintf(&b, "\n%s\n", i.Detail)
	}
	return b.String()
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
