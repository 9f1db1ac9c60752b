// Package again says which answers of an HTTP server are worth another try.
package again

import "net/http"

// Status reports whether a request that was answered with an HTTP status may be answered otherwise later: 408, 425, 429
// and 5xx, but for 501 and 505, which say what a server cannot do.
func Status(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return code >= 500
}
