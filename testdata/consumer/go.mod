module consumer

go 1.26.0

require fiolat v0.0.0

replace fiolat => ../..
