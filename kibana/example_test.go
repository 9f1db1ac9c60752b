package kibana_test

import (
	"bytes"
	"fmt"

	"fiolat/kibana"
)

// The saved objects as a file for Kibana's import.
func ExampleWrite() {
	var file bytes.Buffer
	if err := kibana.Write(&file, "fio"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bytes.Contains(file.Bytes(), []byte(`"title":"fio-percentiles-*"`)))
	// Output: true
}
