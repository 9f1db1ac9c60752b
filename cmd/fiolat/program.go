package main

import (
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// endingSignals are the signals that end a command: SIGINT, SIGTERM, and SIGHUP unless it was
// ignored when fiolat was started, as nohup does.
func endingSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// Set by the linker in a release.
var version, commit, date string

// buildText returns what fiolat was built from, a line each: version, commit, date of the commit, and Go.
func buildText() string {
	text := "fiolat " + versionText() + "\n"
	found, when := commit, date
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision" && found == "":
				found = s.Value
			case s.Key == "vcs.time" && when == "":
				when = s.Value
			}
		}
	}
	for _, line := range [][2]string{{"commit", found}, {"date", when}} {
		if line[1] != "" {
			text += line[0] + " " + line[1] + "\n"
		}
	}
	return text + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
}

// versionText returns the version of the release or of the module, such as 0.1.0, or else the commit.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
