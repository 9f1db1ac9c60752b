// Package source opens what logs and documents are read from: plain and compressed files, pipes, standard input,
// any number of files with few descriptors, and files that grow.
package source
