package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
	"fiolat/internal/ui"
)

// liveSource is where status documents come from.
type liveSource struct {
	io.Reader
	name string
	// live says that fio is running: silence means a stall.
	live bool
	eof  atomic.Bool
	// interrupt is called once, after a signal.
	interrupt func()
	// close releases the source; the error is fio's.
	close        func() error
	endsOnSignal bool // the writer gets the same signals, and ends its output then
}

func (s *liveSource) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		s.eof.Store(true)
	}
	return n, err
}

// ended reports whether the run has ended, also if a signal ended it: fio prints its
// last document then.
func (s *liveSource) ended() bool { return s.endsOnSignal && s.eof.Load() }

// source opens what the arguments name.
func (s *liveSession) source(ctx context.Context) (*liveSource, error) {
	if s.o.fio != nil {
		return startFio(s.u, s.o.fio)
	}
	name := s.o.file
	none := &liveSource{name: name, interrupt: func() {}, close: func() error { return nil }}
	if name == "" || name == "-" {
		// The writer of a pipe usually gets the same signal.
		in, file := s.u.Stdin.(*os.File)
		none.Reader, none.name, none.endsOnSignal = s.u.Stdin, "standard input", true
		none.live = file && !regular(in)
		return none, nil
	}
	switch kind, err := ingest.FileKindOf(name); {
	case err != nil:
		return nil, err
	case kind == ingest.JobFile:
		return nil, &fio.ParseError{File: name, Msg: "a job file, and not what fio prints",
			Hint: "let fiolat start fio with it: fiolat live -- fio " + fio.Printable(name)}
	case kind == ingest.LogFile:
		return nil, &fio.ParseError{File: name, Msg: "a log, and not what fio prints",
			Hint: "read it with fiolat percentiles or fiolat ingest"}
	}
	if s.o.follow {
		f := source.Follow(ctx, name, 0)
		f.Warn = s.u.Warn
		none.Reader, none.live, none.close = f, true, f.Close
		return none, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	none.Reader, none.live, none.close = f, !regular(f), f.Close
	return none, nil
}

func regular(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// fioCommand adds the options that live needs to a command line of fio, and refuses
// those that it cannot work with. step is the status interval.
func fioCommand(args []string, interval time.Duration) (command []string, step time.Duration, err error) {
	given := map[string]string{}
	for i, a := range args[1:] {
		name, value, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") {
			continue
		}
		if !has && i+2 < len(args) {
			value = args[i+2]
		}
		given[name] = value
	}
	for _, no := range []struct{ option, hint string }{
		{"output", "fiolat live reads what fio prints; to keep it as well, let fio write it and pass fiolat live " +
			"--follow FILE"},
		{"o", "see fiolat live --follow FILE"}, {"minimal", ""}, {"m", ""}, {"daemonize", ""}, {"server",
			"start the server separately"},
		{"client", "fio --client prints nothing before its end: run fiolat live on each host, with --run-id and " +
			"--part"},
	} {
		if _, ok := given[no.option]; ok {
			hint := no.hint
			if hint != "" {
				hint = "; " + hint
			}
			return nil, 0, fio.Usagef("fio's option %s does not go with fiolat live%s", no.option, hint)
		}
	}
	add := []string{"--output-format=normal,json+"}
	if f, ok := given["output-format"]; ok {
		if !slices.Contains(strings.Split(f, ","), "json+") {
			return nil, 0, fio.Usagef("fio's --output-format=%s: fiolat live needs json+; leave it out", f)
		}
		add = nil
	}
	if v, ok := given["status-interval"]; ok {
		step, err = jobfile.ParseDuration(v)
		if err != nil || step <= 0 {
			return nil, 0, fio.Usagef("fio's --status-interval=%s: want a time", v)
		}
	} else {
		step = time.Second
		if interval > 0 && interval < step {
			step = interval
		}
		add = append(add, fmt.Sprintf("--status-interval=%dms", step.Milliseconds()))
	}
	return slices.Concat(args[:1], add, args[1:]), step, nil
}

// fioError says that fio failed. fiolat exits with fio's code.
type fioError struct{ Code int }

func (e *fioError) Error() string { return fmt.Sprintf("fio ended with exit code %d", e.Code) }

// startAt is the fraction of a second at which fio is started.
const startAt = 900 * time.Millisecond

// startFio starts fio and passes the first signal on to it; the second kills both. What fio prints besides its
// documents goes to standard error.
func startFio(u *ui.UI, args []string) (*liveSource, error) {
	cmd := exec.Command(args[0], args[1:]...)
	// A process group of its own: signals of the terminal would reach fio twice.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = u.Stdin
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	// Intervals end at whole seconds, and fio takes 0.2 s or more to start the timer of its
	// documents. Started now, it prints them soon after the ends, not just before them.
	time.Sleep((startAt - time.Duration(time.Now().Nanosecond()) + time.Second) % time.Second)
	if err = cmd.Start(); err != nil {
		return nil, fio.Usagef("%v", err)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, endingSignals()...)
	var signalled, killed atomic.Bool
	go func() {
		for sig := range signals {
			if signalled.Swap(true) {
				killed.Store(true)
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // fio may have ended
				endBy(sig, syscall.SIGTERM)
			}
			_ = cmd.Process.Signal(sig)
		}
	}()
	said := make(chan struct{})
	go func() {
		defer close(said)
		relay(stderr, func(line string) { u.Say("info", "%s", line) })
	}()
	documents, pipe := io.Pipe()
	go func() { pipe.CloseWithError(splitOutput(out, pipe, func(line string) { u.Say("info", "%s", line) })) }()
	return &liveSource{Reader: documents, name: "fio", live: true, endsOnSignal: true,
		interrupt: func() {
			if !signalled.Load() { // else fio has the signal already
				_ = cmd.Process.Signal(os.Interrupt)
			}
		},
		close: func() error {
			_ = documents.Close() // cannot fail
			<-said
			err := cmd.Wait()
			if killed.Load() {
				time.Sleep(time.Second) // so that the signal ends this process, not fio's death
			}
			signal.Stop(signals)
			close(signals)
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err
			}
			if code := exit.ExitCode(); code > 0 {
				return &fioError{Code: code}
			}
			return &fioError{Code: 128 + int(exit.Sys().(syscall.WaitStatus).Signal())}
		},
	}, nil
}

// endBy ends this process by the first of some signals that it does not ignore.
func endBy(signals ...os.Signal) {
	for _, sig := range signals {
		signal.Reset(sig)
		_ = syscall.Kill(syscall.Getpid(), sig.(syscall.Signal)) // it may be ignored
	}
}

// maxPrinted is how many bytes of a line that fio prints are kept.
const maxPrinted = 1 << 20

// nextLine reads a line without its end. It leaves out what is beyond maxPrinted bytes, and cut is then true.
func nextLine(in *bufio.Reader) (line []byte, cut bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		room := maxPrinted - len(line)
		line, cut = append(line, part[:min(len(part), room)]...), cut || len(part) > room
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), cut, err
		}
	}
}

// relay passes lines on until r ends.
func relay(r io.Reader, say func(line string)) {
	for in := bufio.NewReader(r); ; {
		line, cut, err := nextLine(in)
		if cut {
			line = append(line, "..."...)
		}
		if len(line) > 0 || err == nil {
			say(string(line))
		}
		if err != nil {
			return
		}
	}
}

// splitOutput separates what fio prints: JSON documents go to documents, other lines to say.
// fio's own report follows each document; only the last one is passed on.
func splitOutput(r io.Reader, documents io.Writer, say func(line string)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var report []string // since the last document
	inside, any, reporting, lost := false, false, false, error(nil)
	for {
		line, cut, err := nextLine(in)
		text := string(line)
		switch {
		case text == "" && err != nil:
		case cut && lost == nil:
			lost = &fio.ParseError{File: "what the command printed", Msg: fmt.Sprintf("a line of more than %d bytes, "+
				"which is no JSON of fio's", maxPrinted), Hint: "let it run fio, or pass fiolat live --follow FILE"}
		case inside || text == "{":
			inside, any, reporting, report = text != "}", true, false, nil
			if lost == nil {
				_, lost = documents.Write(append(line, '\n'))
			}
		case any && (reporting || text == "" || strings.Contains(text, ": (groupid=")):
			reporting = reporting || text != ""
			report = append(report, text)
			if !ofReport(text) {
				say(text)
				report = report[:len(report)-1]
			}
		default:
			say(text)
		}
		if err != nil {
			for _, l := range bytes.Split([]byte(strings.Trim(strings.Join(report, "\n"), "\n")), []byte("\n")) {
				if len(report) > 0 {
					say(string(l))
				}
			}
			if errors.Is(err, io.EOF) {
				return lost
			}
			return err
		}
	}
}

// ofReport reports whether a line belongs to fio's own report.
func ofReport(line string) bool {
	return line == "" || line[0] == ' ' || strings.Contains(line, ": (groupid=") ||
		strings.HasPrefix(line, "Run status group") || strings.HasPrefix(line, "Disk stats")
}
