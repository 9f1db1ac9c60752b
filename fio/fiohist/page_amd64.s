#include "textflag.h"

#define FOUR(at) \
	VMOVUPD at(SI), Y0     \
	VADDPD  at(DI), Y0, Y0 \
	VMOVUPD Y0, at(DI)

#define SIXTEEN(at) \
	FOUR((at))      \
	FOUR((at) + 32) \
	FOUR((at) + 64) \
	FOUR((at) + 96)

// func addPage(p, q *page)
TEXT ·addPage(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), DI
	MOVQ q+8(FP), SI
	SIXTEEN(0)
	SIXTEEN(128)
	SIXTEEN(256)
	SIXTEEN(384)
	VZEROUPPER
	RET
