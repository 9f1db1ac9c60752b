package source

import (
	"io/fs"
	"sync"
)

// SmallSize is the size in bytes up to which a file is read as a whole.
const SmallSize = 64 << 10

// Block is memory for a small file, or a part of a larger one.
type Block [SmallSize]byte

var blocks = sync.Pool{New: func() any { return new(Block) }}

// NewBlock returns a Block with any content, to be freed after use.
func NewBlock() *Block { return blocks.Get().(*Block) }

// Free lets the next NewBlock take b.
func (b *Block) Free() { blocks.Put(b) }

// Small is a file of up to SmallSize bytes that was read as a whole, and is not compressed.
type Small struct {
	// Info describes the file as it was when it was read.
	Info fs.FileInfo
	All  []byte
}
