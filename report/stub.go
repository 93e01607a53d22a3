// SPDX-License-Identifier: Apache-2.0

package report

func renderText(d *document) ([]byte, error)        { return nil, nil }
func renderMarkdown(d *document) ([]byte, error)    { return nil, nil }
func renderStepSummary(d *document) ([]byte, error) { return nil, nil }
func renderJUnit(d *document) ([]byte, error)       { return nil, nil }
func renderSARIF(d *document) ([]byte, error)       { return nil, nil }
func renderGitHub(d *document) ([]byte, error)      { return nil, nil }
