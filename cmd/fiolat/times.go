package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiolog"
)

// parseDuration parses 10s, 1m30s, 500ms, or a plain number of seconds.
func parseDuration(flag, v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil {
		seconds, nerr := strconv.ParseFloat(v, 64)
		if nerr != nil || !(seconds > -1e9 && seconds < 1e9) {
			return 0, fio.Usagef("%s %q: want a duration such as 500ms, 10s or 1m", flag, v)
		}
		d = time.Duration(seconds * 1e9)
	}
	return d, nil
}

// parseAge parses an age such as 90d or 52w, or a duration of Go; 100 years at most.
func parseAge(text string) (time.Duration, error) {
	const century = 100 * 365 * 24
	duration := text
	if age.MatchString(text) {
		n, unit := text[:len(text)-1], text[len(text)-1]
		if hours := map[byte]int{'d': 24, 'w': 7 * 24}[unit]; hours > 0 {
			many, _ := strconv.Atoi(n) // of at most six digits
			duration = fmt.Sprintf("%dh", min(many*hours, century+1))
		}
	}
	d, err := time.ParseDuration(duration)
	if err != nil || d > century*time.Hour {
		return 0, fio.Usagef("%q: want an age such as 12h, 30d or 8w, 100 years at most", text)
	}
	return d, nil
}

// parseStart converts the forms of --start to RFC 3339; mtime stays as it is.
func parseStart(v string) (string, error) {
	if v == "" || v == "mtime" {
		return v, nil
	}
	if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 && n < 1e13 {
		if n < 1e11 { // seconds
			n *= 1000
		}
		return inRange(v, time.UnixMicro(int64(n*1000)))
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, v); err == nil { // without a zone: UTC
			return inRange(v, t)
		}
	}
	return "", fio.Usagef("--start %q: want a time such as 2026-01-31T12:00:00Z, seconds or ms since 1970, or mtime",
		v)
}

// parseTime is parseStart without mtime and without numbers that may be meant as a length.
func parseTime(v string) (t time.Time, ok bool) {
	if n, err := strconv.ParseFloat(v, 64); err == nil && n < 1e8 {
		return t, false
	}
	at, err := parseStart(v)
	if err == nil {
		t, err = time.Parse(time.RFC3339Nano, at) // fails for "" and mtime
	}
	return t, err == nil
}

// inRange formats t as RFC 3339. A run that starts at t must fit 64 bits of
// nanoseconds since 1970.
func inRange(v string, t time.Time) (string, error) {
	if t.Year() < 1678 || t.UnixMilli() > fiolog.MaxTime {
		return "", fio.Usagef("--start %q: want a time between the years 1678 and 2200", v)
	}
	return t.UTC().Format(time.RFC3339Nano), nil
}

// parseClock parses m:s or h:m:s.
func parseClock(text string) (d time.Duration, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	for i, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		last := i == len(parts)-1
		if err != nil || part[0] < '0' || part[0] > '9' || v > 1e6 || i > 0 && v >= 60 ||
			!last && v != float64(int(v)) {
			return 0, false
		}
		d = d*60 + time.Duration(v*1e9)
	}
	return d, true
}
