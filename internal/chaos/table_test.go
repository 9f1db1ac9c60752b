package chaos

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/fio"
)

// columns of docs/data/chaos.csv. Only broken replies have exit_0, only the other faults have sent.
var columns = []string{"server", "fault", "times", "exit_0", "documents", "sent", "found", "duplicates", "lost",
	"finished_by"}

// readTable returns the rows of a table, the first of which are its columns. A file that is missing or empty has no
// other row.
func readTable(t *testing.T, table string) [][]string {
	t.Helper()
	text, err := os.ReadFile(table)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
	if len(rows) == 0 {
		rows = [][]string{columns}
	}
	if !slices.Equal(rows[0], columns) {
		t.Fatalf("%s has columns %q, want %q", table, rows[0], columns)
	}
	return rows
}

// record puts a row into a table: in the place of that of the same server and fault, else behind those of its server.
func record(t *testing.T, table string, row []string) {
	t.Helper()
	rows := readTable(t, table)
	from, to := len(rows), len(rows)
	for i, r := range rows {
		if r[0] == row[0] {
			from, to = i+1, i+1
			if r[1] == row[1] {
				from = i
				break
			}
		}
	}
	var text bytes.Buffer
	err := csv.NewWriter(&text).WriteAll(slices.Replace(rows, from, to, row))
	if err = errors.Join(err, os.WriteFile(table, text.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	table := t.TempDir() + "/chaos.csv"
	row := func(server, fault, times string) []string {
		return []string{server, fault, times, "", "1", "1", "1", "0", "0", "`a`, and \"b\""}
	}
	for _, r := range [][]string{row("8", "x", "1"), row("9", "x", "1"), row("8", "y", "1"), row("8", "x", "2")} {
		record(t, table, r)
	}
	want := [][]string{columns, row("8", "x", "2"), row("8", "y", "1"), row("9", "x", "1")}
	if got := readTable(t, table); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTotals: the totals in docs/reliability.md are those of docs/data/chaos.csv.
func TestTotals(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	var servers []string
	sums := map[string]*[7]float64{} // faults, times, documents; the same of replies; wrong
	for _, row := range readTable(t, "../../docs/data/chaos.csv")[1:] {
		sum := sums[row[0]]
		if sum == nil {
			sum = new([7]float64)
			sums[row[0]], servers = sum, append(servers, row[0])
		}
		var n [4]float64 // times, documents, duplicates, lost
		for i, column := range []int{2, 4, 7, 8} {
			if n[i], err = strconv.ParseFloat(row[column], 64); err != nil {
				t.Fatalf("%q: %v", row, err)
			}
		}
		of := sum[0:3]
		if strings.HasPrefix(row[1], "reply: ") {
			of = sum[3:6]
		}
		of[0], of[1], of[2] = of[0]+1, of[1]+n[0], of[2]+n[1]
		sum[6] += n[2] + n[3]
	}
	for _, server := range servers {
		line := "| " + server + " |"
		for _, sum := range sums[server] {
			line += fmt.Sprintf(" %s |", fio.Grouped(sum))
		}
		if !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/reliability.md has no row\n%s", line)
		}
	}
}
