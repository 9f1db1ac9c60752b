// Package fiolog reads the format of fio's latency logs: histograms (write_hist_log) and single I/Os
// (write_lat_log). Its Reader gives one Record a line, exactly as the line says.
//
// It never repairs, shifts or merges, and it never skips in silence. A line that is not what fio writes is an
// *errs.ParseError with file, line, reason and way out, and the caller decides whether to stop or to count it and
// go on.
package fiolog
