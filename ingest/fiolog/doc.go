// Package fiolog reads the format of fio's latency logs: histograms (write_hist_log) and single I/Os (write_lat_log).
// Its Reader returns one Record for each line of a histogram log, and for each stamp and direction of a log of single
// I/Os.
//
// It never repairs, shifts or merges records, and never skips a line silently, except empty ones. A line that fio
// would not write is an *fio.ParseError with file, line, reason and remedy; the caller decides whether to stop or to
// count it and go on.
package fiolog
