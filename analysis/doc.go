// Package analysis is the room of what fiolat concludes. Rows and intervals of runs come in, from logs, documents or
// fio's JSON alike. Verdicts, change points, curves and findings go out, as values with their limits. Nothing in it
// reads a file, asks a server or draws.
package analysis
