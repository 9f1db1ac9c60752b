module fiolat/scripts/bench

go 1.26.0

replace fiolat => ../..

require (
	fiolat v0.0.0-00010101000000-000000000000
	github.com/klauspost/compress v1.20.4
	golang.org/x/sync v0.25.0
)

require (
	golang.org/x/sys v0.50.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)
