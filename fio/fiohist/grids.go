package fiohist

// Fio2 and Fio3 are the geometries of fio 2 (in microseconds) and fio 3 (in nanoseconds) at coarseness 0.
var (
	Fio2 = Geometry{Groups: GroupsV2, Unit: 1000}
	Fio3 = Geometry{Groups: GroupsV3, Unit: 1}
)
