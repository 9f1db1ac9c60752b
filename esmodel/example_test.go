package esmodel_test

import (
	"fmt"
	"time"

	"fiolat/esmodel"
)

// The index of a document has the month of its time.
func ExampleIndex() {
	at := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	fmt.Println(esmodel.Index("fio", esmodel.KindPercentiles, at.UnixNano()))
	fmt.Println(esmodel.PercentileName(99.9))
	// Output:
	// fio-percentiles-2026.01
	// p99_9
}
