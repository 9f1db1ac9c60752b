// Package blockscan reads the columns of a histogram log's line at the speed of memory: AVX2 in blocks of 64 bytes,
// where the processor has it, and its slow twin Portable everywhere.
package blockscan
