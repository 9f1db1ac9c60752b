package kibana

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// placeholder stands for the prefix in packed: in ids, names, index patterns and the searches of charts.
const placeholder = "@PREFIX@"

//go:generate go run ./gen @PREFIX@ bundle.ndjson.gz shipped.txt

// packed is the bundle as NDJSON, compressed.
//
//go:embed bundle.ndjson.gz
var packed []byte

// bundle returns the bundle for a prefix.
func bundle(prefix string) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return bytes.ReplaceAll(b, []byte(placeholder), []byte(prefix)), err
}

// Write writes the bundle for the indices of a prefix, all objects in the format of Kibana's exports: NDJSON, an object
// per line, then a line with their number. Ids begin with the prefix, so bundles of several prefixes fit into one
// space. A prefix is the beginning of an index name: it has no character that JSON escapes.
func Write(w io.Writer, prefix string) error {
	b, err := bundle(prefix)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// savedObject names an object in a space of Kibana.
type savedObject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// objects returns the names of the objects of a bundle.
func objects(bundle []byte) (out []savedObject, err error) {
	for d := json.NewDecoder(bytes.NewReader(bundle)); ; {
		var o savedObject
		err = d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if o.ID != "" { // the last line has none
			out = append(out, o)
		}
	}
}
