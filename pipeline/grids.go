package pipeline

import "fiolat/internal/fiohist"

var (
	fio2Grid = fiohist.Geometry{Groups: fiohist.GroupsV2, Unit: 1000}
	fio3Grid = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
)
