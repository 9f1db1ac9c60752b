package fiolog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fiolat/fio"
)

// TestReadAhead: with any number of parsers and any size of block, a Reader that
// reads ahead gives what the slow twin does: lines that are torn, too long, damaged,
// empty, cut, or with other ends.
func TestReadAhead(t *testing.T) {
	long := strings.Repeat("9", 400)
	log := line() + "\n\n" + line("20", "x") + "\n" + line("0", "2000", "5", "77") + "\n" + long + "\n" +
		line("0", "2500") + "\r\n" + strings.ReplaceAll(line("0", "3000"), ", ", " ,") + "\n\xef\xbb\xbf" + line() +
		"\n" +
		long + long + "\n" + line("0", "4000") + "\n"
	for name, log := range map[string]string{"whole": log, "cut": log + line()[:50], "no last newline": log + line(),
		"ends in a long line": log + long} {
		const maxLine = 300
		want, _ := slowRead([]byte(log), maxLine, 0)
		for _, parsers := range []int{1, 2, 16} {
			for block := 1; block <= len(log)+1; block += 1 + block/20 {
				r := NewReader(iotest.HalfReader(strings.NewReader(log)), "log", ReaderOptions{Block: block,
					MaxLine: maxLine})
				r.ReadAhead(parsers)
				sameItems(t, fmt.Sprintf("%s, %d parsers, block %d", name, parsers, block), readAll(t, r), want)
			}
		}
	}
	damaged := line() + "\n" + strings.Repeat("\xef\xbb\xbf"+line()+"\nx\x9c"+line()+"\n"+line()+"\n", 4)
	for after := range int64(5) { // lines before these, of another job
		opt := ReaderOptions{Block: len(line()) + 20, After: after}
		want := readAll(t, NewReader(strings.NewReader(damaged), "log", opt))
		r := NewReader(strings.NewReader(damaged), "log", opt)
		r.ReadAhead(3)
		sameItems(t, fmt.Sprintf("after %d lines", after), readAll(t, r), want)
	}
	for name, log := range realLogs(t) {
		want, _ := slowRead(log, defaultMaxLine, 0)
		r := NewReader(bytes.NewReader(log), name, ReaderOptions{Block: 10_000})
		r.ReadAhead(3)
		sameItems(t, name, readAll(t, r), want)
	}
}

// TestReadAhead_InputErrors: they are what they are without, after the same records.
func TestReadAhead_InputErrors(t *testing.T) {
	broken, damage := errors.New("the cable is out"), &fio.ParseError{File: "log", Msg: "damaged",
		Hint: "copy it again"}
	for _, fault := range []error{broken, damage} {
		var want []string
		for _, parsers := range []int{0, 1, 4} {
			in := io.MultiReader(iotest.OneByteReader(strings.NewReader(strings.Repeat(line()+"\n", 5)+line()[:20])),
				iotest.ErrReader(fault))
			r := NewReader(in, "log", ReaderOptions{Block: 500})
			r.ReadAhead(parsers)
			var got []string
			for range 8 {
				_, err := r.Next()
				got = append(got, fmt.Sprint(err))
			}
			if parsers == 0 {
				want = got
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") || !strings.Contains(strings.Join(got, "\n"),
				"after line 5") {
				t.Errorf("%d parsers:\n%q, want\n%q", parsers, got, want)
			}
		}
	}
}

// TestReadAhead_Stop: nothing reads the input after Stop, wherever it had come to.
func TestReadAhead_Stop(t *testing.T) {
	log := []byte(strings.Repeat(line()+"\n", 1000))
	for records := range 50 {
		in := &loop{log: log}
		r := NewReader(in, "log", ReaderOptions{Block: 1000})
		r.ReadAhead(2)
		for range records {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		r.Stop()
		at := in.at
		time.Sleep(100 * time.Microsecond)
		if in.at != at {
			t.Fatalf("after %d records: read on", records)
		}
	}
}
