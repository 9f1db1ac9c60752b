// Package internal holds plumbing: the terminal, temporary files, secrets, alerts, metrics, the probe, which
// run an argument names, and what tests share. Nothing in it knows what a latency means for a run.
package internal
