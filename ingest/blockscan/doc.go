// Package blockscan reads the bucket columns of a histogram log's line: with AVX2 in blocks of 64 bytes where the
// processor has it, and with Portable on any processor.
package blockscan
