package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/fio"
)

// CheckVersion asks for the versions of the nodes, once a client. A node that is too old is an error. One that is newer
// than fiolat is a warning, of the first call. A version that cannot be had is neither: it takes the cluster privilege
// monitor, and who installed the templates has had it checked.
func (c *Client) CheckVersion(ctx context.Context) (warnings []string, err error) {
	c.version.Do(func() {
		versions, _ := c.Versions(ctx)
		for _, v := range versions {
			old, newer := fio.SupportedElastic(v)
			if old {
				c.tooOld = tooOld(v)
			} else if newer {
				warnings = []string{fmt.Sprintf("Elasticsearch %s is newer than the supported %s: update fiolat, or compare "+
					"what fiolat summary reads from it with the logs", c.hidden(v), fio.ElasticVersions)}
			}
		}
	})
	return warnings, c.tooOld
}

// Versions returns the versions of all nodes. GET / would tell only one node's, and test builds of Elasticsearch answer
// it with 405.
func (c *Client) Versions(ctx context.Context) (versions []string, err error) {
	data, err := c.Once(ctx, Request{Op: "read the versions of the nodes", API: esapi.NodesInfoRequest{
		NodeID: []string{"_all"}, Metric: []string{"_none"}, Timeout: 10 * time.Second,
		FilterPath: []string{"nodes.*.version"}}})
	var reply struct {
		Nodes map[string]struct {
			Version string `json:"version"`
		} `json:"nodes"`
	}
	if err == nil {
		err = json.Unmarshal(data, &reply)
	}
	for _, n := range reply.Nodes {
		versions = append(versions, n.Version)
	}
	slices.Sort(versions)
	return slices.Compact(versions), err
}

func tooOld(version string) error {
	return fmt.Errorf("the server is Elasticsearch %s, which is too old: before %s it counts at most 2 million I/Os in a "+
		"bucket of a document; update it, or %s", fio.Printable(version), fio.OldestElastic, filesInstead)
}

// foreign says what a server is that does not identify itself as a supported Elasticsearch. It asks the server once.
func (c *Client) foreign(ctx context.Context) error {
	var reply struct {
		Version struct{ Number, Distribution string }
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return errNotElasticsearch
	}
	if res, err := c.es.Perform(req); err == nil {
		defer res.Body.Close()
		// What cannot be read names nothing.
		_ = json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&reply)
	}
	v := reply.Version
	if v.Distribution != "" {
		name := strings.Replace(v.Distribution, "opensearch", "OpenSearch", 1)
		return fmt.Errorf("the server is %s %s, which fiolat does not support; %s", c.hidden(name), c.hidden(v.Number),
			filesInstead)
	}
	if old, _ := fio.SupportedElastic(v.Number); old {
		return tooOld(v.Number)
	}
	return errNotElasticsearch
}
