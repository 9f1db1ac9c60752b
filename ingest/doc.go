// Package ingest turns paths into records: it finds fio's histogram logs, opens
// them (plain, .gz, .zst, .xz, standard input), parses their lines, and reads
// what fio's JSON output or the job file says about the run.
//
// It says what is in a file and nothing more: it never repairs, shifts or merges
// (that is pipeline's), and it never skips in silence. A line that is not what
// fio writes is a *ParseError with file, line, reason and way out, and the caller
// decides whether to stop or to count it and go on.
//
// It is called by pipeline and by the commands; it imports internal/fiohist.
package ingest
