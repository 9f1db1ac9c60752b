//go:build integration

package kibana

import "testing"

func testBrowser(t *testing.T, s *stored) {}
