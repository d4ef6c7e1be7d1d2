package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// markdown is a table of Markdown whose columns are aligned, so that it can be read in a terminal too.
type markdown struct{ rows [][]string }

// newMarkdown returns a table with a header.
func newMarkdown(header ...string) *markdown { return &markdown{[][]string{header}} }

// add adds a row.
func (m *markdown) add(cells ...string) { m.rows = append(m.rows, cells) }

// print prints the table.
func (m *markdown) print(out io.Writer) error {
	widths := make([]int, len(m.rows[0]))
	for _, row := range m.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, row := range m.rows {
		for j, cell := range row {
			row[j] = cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
		}
		if _, err := fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		for _, width := range widths {
			fmt.Fprint(out, "|", strings.Repeat("-", width+2))
		}
		fmt.Fprintln(out, "|")
	}
	return nil
}
