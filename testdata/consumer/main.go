// Command consumer uses fiolat from outside of its module: it writes the documents of a run to standard output with a
// sink of its own, and says what is wrong with logs that cannot be read.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"fiolat"
	"fiolat/esmodel"
	"fiolat/fio"
	"fiolat/pipeline"
	"fiolat/pipeline/plan"
)

func main() {
	sink := &documents{out: bufio.NewWriter(os.Stdout)}
	err := fiolat.Pipeline(context.Background(), plan.Config{Settings: fio.Defaults()}, sink, os.Args[1:]...)
	if bad, ok := errors.AsType[*fio.ParseError](err); ok {
		fmt.Printf("line %d: %s; %s\n", bad.Line, bad.Msg, bad.Hint)
	} else if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// documents writes each document as a line.
type documents struct {
	pipeline.Discard
	out     *bufio.Writer
	encoder *esmodel.Encoder
	doc     []byte
}

func (d *documents) Begin(_ context.Context, run *pipeline.Run) error {
	d.encoder = esmodel.NewEncoder("fio", run)
	return nil
}

func (d *documents) Interval(_ context.Context, q *pipeline.Interval) error {
	for i := range q.Leaves {
		if !esmodel.HasDocument(q.Leaves[i].Hist) {
			continue
		}
		doc, err := d.encoder.Histogram(d.doc[:0], q, &q.Leaves[i])
		if err := d.write(doc, err); err != nil {
			return err
		}
	}
	for i := range q.Rows {
		doc, err := d.encoder.Percentiles(d.doc[:0], q, &q.Rows[i])
		if err := d.write(doc, err); err != nil {
			return err
		}
	}
	return nil
}

// write takes the results of an encoder's call.
func (d *documents) write(doc []byte, err error) error {
	d.doc = doc
	if err == nil {
		_, err = d.out.Write(append(doc, '\n'))
	}
	return err
}

func (d *documents) End(context.Context, *pipeline.Summary) error { return d.out.Flush() }
