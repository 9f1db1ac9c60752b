package fio

import "fmt"

// The versions of Elasticsearch and Kibana that are supported. Before 8.12 Elasticsearch counts a bucket of a histogram
// in 32 bits (elastic/elasticsearch#99912), which is too few for thousandths.
const (
	OldestElastic   = "8.12"
	newestElastic   = 9
	ElasticVersions = "8.12 to 9.x" // in words
)

// SupportedElastic reports whether a version is too old, or newer than the newest that is known. A text that is no
// version is neither.
func SupportedElastic(version string) (old, newer bool) {
	var major, minor, oldMajor, oldMinor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return false, false
	}
	_, _ = fmt.Sscanf(OldestElastic, "%d.%d", &oldMajor, &oldMinor) // a constant
	return major < oldMajor || major == oldMajor && minor < oldMinor, major > newestElastic
}
