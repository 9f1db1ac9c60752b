package delivery

import (
	"fmt"
	"maps"
	"slices"

	"fiolat/fio"
)

// Counts says what became of documents: after Close,
// Made = Indexed + Written + Refused + Spooled + Lost.
type Counts struct {
	// Made are the documents passed to the writer.
	Made int64 `json:"made"`
	// Indexed are those that Elasticsearch acknowledged one by one.
	Indexed int64 `json:"indexed"`
	// Written are the documents in published files of a directory.
	Written int64 `json:"written"`
	// Refused are those that Elasticsearch refused permanently; they are kept in the refused file, if the
	// writer has one.
	Refused int64 `json:"refused"`
	// Spooled are those that could not be sent and lie in the spool.
	Spooled int64 `json:"spooled"`
	// Lost are those that could neither be sent nor spooled.
	Lost int64 `json:"lost"`
	// Deleted are documents of other generations that were deleted.
	Deleted int64 `json:"deleted"`
	// Bytes are the bytes of the documents made, with their action lines, before
	// compression.
	Bytes int64 `json:"bytes"`
}

func (c *Counts) add(o Counts) {
	c.Made += o.Made
	c.Indexed += o.Indexed
	c.Written += o.Written
	c.Refused += o.Refused
	c.Spooled += o.Spooled
	c.Lost += o.Lost
	c.Deleted += o.Deleted
	c.Bytes += o.Bytes
}

// Incomplete reports whether any document was refused, spooled or lost.
func (c Counts) Incomplete() bool { return c.Refused+c.Spooled+c.Lost > 0 }

// Refusal is one reason for which Elasticsearch refused documents.
type Refusal struct {
	Index  string `json:"index"`
	ID     string `json:"id"` // of the first such document
	Status int    `json:"status"`
	Type   string `json:"type"`
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

func (r Refusal) String() string {
	return fmt.Sprintf("%s/%s: %d %s: %s", fio.Printable(r.Index), fio.Printable(r.ID), r.Status,
		fio.Printable(r.Type), fio.Printable(r.Reason))
}

// Report is the account of a writer.
type Report struct {
	// Indices are the counts by index.
	Indices map[string]Counts `json:"indices"`
	// Requests counts requests, Retried each time a document was sent again.
	Requests int64 `json:"requests"`
	Retried  int64 `json:"retried"`
	// Clamped counts documents whose _doc_count was reduced to 2^31-1.
	Clamped int64 `json:"doc_count_clamped"`
	// Refusals are the first reasons, at most maxRefusals, in order of appearance;
	// OtherRefusals counts the documents refused for yet other reasons.
	Refusals      []Refusal `json:"refusals,omitempty"`
	OtherRefusals int64     `json:"other_refusals"`
	// SpoolFile and RefusedFile hold what "fiolat load" sends again; "" if unused.
	SpoolFile   string `json:"spool_file,omitempty"`
	RefusedFile string `json:"refused_file,omitempty"`
	// Files are those published by a DirWriter.
	Files []string `json:"files,omitempty"`
	// Warnings are messages for users.
	Warnings []string `json:"warnings,omitempty"`
}

// Total returns the sum over all indices.
func (r Report) Total() Counts {
	var t Counts
	for _, c := range r.Indices {
		t.add(c)
	}
	return t
}

func (r Report) names() []string { return slices.Sorted(maps.Keys(r.Indices)) }

const maxRefusals = 20

// refuse records a refusal. Reasons are grouped by index, status and type, because the reason itself often
// contains the document's id.
func (r *Report) refuse(f Refusal) {
	for i := range r.Refusals {
		o := &r.Refusals[i]
		if o.Index == f.Index && o.Status == f.Status && o.Type == f.Type {
			o.Count++
			return
		}
	}
	if len(r.Refusals) == maxRefusals {
		r.OtherRefusals++
		return
	}
	f.Count = 1
	r.Refusals = append(r.Refusals, f)
}

// clone returns a deep copy.
func (r *Report) clone() Report {
	c := *r
	c.Indices = maps.Clone(r.Indices)
	c.Refusals = slices.Clone(r.Refusals)
	c.Files = slices.Clone(r.Files)
	c.Warnings = slices.Clone(r.Warnings)
	return c
}
