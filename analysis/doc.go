// Package analysis concludes from the rows and intervals of runs, be they from logs, documents or fio's JSON: verdicts,
// change points, curves and findings are values with their limits. Nothing in it
// reads a file, asks a server or draws.
package analysis
