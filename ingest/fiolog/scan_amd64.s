#include "textflag.h"

// What a byte is worth as last digit and as the one before it, by its low four bits.
// Comma and blank are worth nothing.
DATA units<>+0(SB)/8, $0x0706050403020100
DATA units<>+8(SB)/8, $0x0000000000000908
GLOBL units<>(SB), RODATA|NOPTR, $16
DATA tens<>+0(SB)/8, $0x463C32281E140A00
DATA tens<>+8(SB)/8, $0x0000000000005A50
GLOBL tens<>(SB), RODATA|NOPTR, $16

DATA comma<>+0(SB)/1, $','
GLOBL comma<>(SB), RODATA|NOPTR, $1
DATA blank<>+0(SB)/1, $' '
GLOBL blank<>(SB), RODATA|NOPTR, $1
DATA zero<>+0(SB)/1, $'0'
GLOBL zero<>(SB), RODATA|NOPTR, $1
DATA overNine<>+0(SB)/1, $0x76 // lifts what is above 9 into the high bit
GLOBL overNine<>(SB), RODATA|NOPTR, $1
DATA hundred<>+0(SB)/4, $0x00640001 // 1 and 100, two words
GLOBL hundred<>(SB), RODATA|NOPTR, $4

// As in portable.
DATA digitBits<>+0(SB)/8, $0x1010101010101010
GLOBL digitBits<>(SB), RODATA|NOPTR, $8
DATA zeroDigits<>+0(SB)/8, $0x3030303030303030
GLOBL zeroDigits<>(SB), RODATA|NOPTR, $8
DATA pairs<>+0(SB)/8, $0x000000FF000000FF
GLOBL pairs<>(SB), RODATA|NOPTR, $8
DATA outer<>+0(SB)/8, $0x000F424000000064
GLOBL outer<>(SB), RODATA|NOPTR, $8
DATA inner<>+0(SB)/8, $0x0000271000000001
GLOBL inner<>(SB), RODATA|NOPTR, $8

// MASK makes the high bits of the bytes in Y2 and Y3 one mask; it uses AX.
#define MASK(to) \
	VPMOVMSKB Y2, to \
	VPMOVMSKB Y3, AX \
	SHLQ      $32, AX \
	ORQ       AX, to

// BYTES is a mask of those bytes in Y0 and Y1 that are as in y.
#define BYTES(y, to) \
	VPCMPEQB Y0, y, Y2 \
	VPCMPEQB Y1, y, Y3 \
	MASK(to)

// LOW stores, for each of 32 bytes, the number that the two before it make: at a
// comma, the last two digits of its column.
#define LOW(at, to) \
	VMOVDQU ((at)-1)(SI), Y2 \
	VMOVDQU ((at)-2)(SI), Y3 \
	VPSHUFB Y2, Y11, Y2      \
	VPSHUFB Y3, Y10, Y3      \
	VPADDB  Y3, Y2, Y2       \
	VMOVDQU Y2, to

// HIGH does so with the two before these, of which the first belongs to another column
// if the second is a comma.
#define HIGH(at, to) \
	VMOVDQU  ((at)-3)(SI), Y2 \
	VMOVDQU  ((at)-4)(SI), Y3 \
	VPCMPEQB Y2, Y15, Y4      \
	VPSHUFB  Y2, Y11, Y2      \
	VPSHUFB  Y3, Y10, Y3      \
	VPANDN   Y3, Y4, Y3       \
	VPADDB   Y3, Y2, Y2       \
	VMOVDQU  Y2, to

// COLUMN takes the next end of a column out of AX: its index goes to DI, its last two
// digits to word 2i of X5, its place in the block into BX.
#define COLUMN(i) \
	TZCNTQ  AX, BX          \
	BLSRQ   AX, AX          \
	BZHIQ   BX, CX, DX      \
	POPCNTQ DX, DX          \
	ADDL    R10, DX         \
	MOVW    DX, (2*(i))(DI) \
	VPINSRB $(4*(i)), low-80(SP)(BX*1), X5, X5

// LONG is COLUMN for up to four digits.
#define LONG(i) \
	COLUMN(i) \
	VPINSRB $(4*(i)+2), high-152(SP)(BX*1), X5, X5

// COUNTS stores the four numbers in X5.
#define COUNTS \
	VPADDD    X5, X7, X7 \
	VCVTDQ2PD X5, Y5     \
	VMOVUPD   Y5, (R9)   \
	ADDQ      $8, DI     \
	ADDQ      $32, R9    \
	SUBQ      $4, R13

// func scanBlocks(b []byte, p int, index *uint16, count *float64, columns int) (end, n int, sum uint64)
//
// A block is 64 bytes, seen as masks of 64 bits. Its first four bytes are the last ones
// of the block before, which saves all carrying over: no rule looks back further.
// Blocks thus lie 60 bytes apart, which is 20 columns `0, `, so that in a run of zeros
// each block looks like the one before it.
//
//	SI  the block           DI  next in index    R10  columns before the block
//	R8  the last possible   R9  next in count    R12  columns
//	R11, X7  sum of the counts, of those in X5
TEXT ·scanBlocks(SB), NOSPLIT, $152-80
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), R8
	LEAQ -64(SI)(R8*1), R8
	ADDQ p+24(FP), SI
	SUBQ $4, SI
	MOVQ index+32(FP), DI
	MOVQ count+40(FP), R9
	MOVQ columns+48(FP), R12
	XORL R10, R10
	XORL R11, R11
	VPXOR X7, X7, X7
	VPBROADCASTB comma<>(SB), Y15
	VPBROADCASTB blank<>(SB), Y14
	VPBROADCASTB zero<>(SB), Y13
	VPBROADCASTB overNine<>(SB), Y12
	VBROADCASTI128 units<>(SB), Y11
	VBROADCASTI128 tens<>(SB), Y10
	VPBROADCASTD hundred<>(SB), X9

	// Without a bit left TZCNT gives 64: a column there counts 0.
	MOVQ $0, low-16(SP)
	MOVQ $0, high-88(SP)

block:
	CMPQ SI, R8
	JHI  no
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	BYTES(Y15, CX)             // CX: commas
	BYTES(Y14, BX)             // BX: blanks
	VPSUBB Y13, Y0, Y2
	VPSUBB Y13, Y1, Y3
	VPADDUSB Y12, Y2, Y2
	VPADDUSB Y12, Y3, Y3
	MASK(DX)                   // DX: no digits
	BYTES(Y13, R13)            // R13: '0'

	// R14: what is not as it should be.
	LEAQ (CX*4), R14           // columns start two bytes behind a comma
	ANDQ R14, R13
	ANDQ DX, R14               // with a digit,
	ADDQ R13, R13              // R13: behind a first '0'
	ANDNQ R13, CX, AX          // comes a comma,
	ORQ  AX, R14
	LEAQ (CX*2), AX            // behind a comma, and only there, a blank,
	XORQ BX, AX
	ORQ  AX, R14
	XORQ CX, BX                // and there is nothing else
	XORQ DX, BX
	ORQ  BX, R14
	SHRQ $4, R14
	JNZ  odd

	MOVQ CX, BX
	ANDQ $~15, BX              // BX: commas, not those of the block before
	ANDNQ BX, R13, AX          // AX: those behind columns that are not 0
	POPCNTQ BX, R14
	TESTQ AX, AX
	JZ   zeros
	ADDQ R10, R14              // R14: columns up to the end of the block
	CMPQ R14, R12
	JGE  no                    // the last one ends with the line

columns:
	SHLQ $3, CX                // behind one digit,
	LEAQ (CX*2), R13           // or two
	ORQ  CX, R13
	MOVQ BX, CX                // CX: commas, not those of the block before
	ANDNQ AX, R13, DX
	TESTQ DX, DX
	JNZ  long
	LOW(0, low-80(SP))
	LOW(32, low-48(SP))
	POPCNTQ AX, R13

	// Always four columns: what is too much is written over by the next block.
four:
	VPXOR X5, X5, X5
	COLUMN(0)
	COLUMN(1)
	COLUMN(2)
	COLUMN(3)
	COUNTS
	JGT  four

behind:
	// R13: minus the columns that were too much.
	LEAQ (DI)(R13*2), DI
	LEAQ (R9)(R13*8), R9
next:
	MOVQ R14, R10
	CMPQ R10, R12
	JEQ  done
	ADDQ $60, SI
	JMP  block

zeros:
	ADDQ R14, R10
	ADDQ $60, SI
	CMPQ SI, R8
	JHI  no
	VPCMPEQB (SI), Y0, Y2
	VPCMPEQB 32(SI), Y1, Y3
	VPAND Y2, Y3, Y2
	VPMOVMSKB Y2, AX
	CMPL AX, $-1
	JEQ  zeros                 // byte for byte as before
	JMP  block

long:
	SHLQ $2, R13               // behind three or four digits; not seen of all columns
	ANDNQ DX, R13, DX          // that began before the block, which go the longer way
	TESTQ DX, DX
	JNZ  longer
	LOW(0, low-80(SP))
	LOW(32, low-48(SP))
	HIGH(0, high-152(SP))
	HIGH(32, high-120(SP))
	POPCNTQ AX, R13
fourLong:
	VPXOR X5, X5, X5
	LONG(0)
	LONG(1)
	LONG(2)
	LONG(3)
	VPMADDWD X9, X5, X5
	COUNTS
	JGT  fourLong
	JMP  behind

longer:
	// One after the other, as Columns does it, but from the end of the number.
	TZCNTQ AX, BX
	BLSRQ AX, AX
	MOVQ -8(SI)(BX*1), DX
	BZHIQ BX, CX, BX
	POPCNTQ BX, BX
	ADDL R10, BX
	MOVW BX, (DI)
	MOVQ digitBits<>(SB), R13
	ANDNQ R13, DX, R13
	BSWAPQ R13
	TZCNTQ R13, R13
	JCS  no                    // eight digits or more
	ANDL $0x78, R13            // R13: bits of the digits, and what to shift out
	NEGL R13
	XORQ zeroDigits<>(SB), DX
	SHRXQ R13, DX, DX
	SHLXQ R13, DX, DX
	LEAQ (DX)(DX*4), R13
	SHRQ $8, DX
	LEAQ (DX)(R13*2), DX
	MOVQ DX, R13
	SHRQ $16, R13
	ANDQ pairs<>(SB), DX
	ANDQ pairs<>(SB), R13
	IMULQ outer<>(SB), DX
	IMULQ inner<>(SB), R13
	ADDQ R13, DX
	SHRQ $32, DX
	ADDQ DX, R11
	VCVTSI2SDL DX, X9, X5      // of X9, which nothing waits for, the upper half
	VMOVSD X5, (R9)
	ADDQ $2, DI
	ADDQ $8, R9
	TESTQ AX, AX
	JNZ  longer
	JMP  next

odd:
	// The first byte that is not as it should be may be the newline behind the last
	// column. It counts as a comma then, and nothing comes behind it.
	TZCNTQ R14, R14
	ADDL $3, R14
	BTQ  R14, DX
	JCS  no                    // no digit in front of it
	INCL R14
	CMPB (SI)(R14*1), $'\n'
	JNE  no
	LEAQ 1(SI)(R14*1), AX
	MOVQ AX, end-8(SP)
	BZHIQ R14, CX, CX
	BTSQ R14, CX
	MOVQ CX, BX
	ANDQ $~15, BX
	ANDNQ BX, R13, AX
	POPCNTQ BX, R14
	ADDQ R10, R14
	CMPQ R14, R12
	JNE  no
	TESTQ AX, AX
	JNZ  columns

done:
	VPSHUFD $0x4E, X7, X5
	VPADDD X5, X7, X7
	VPSHUFD $0xB1, X7, X5
	VPADDD X5, X7, X7
	VMOVD X7, AX
	VZEROUPPER
	ADDQ AX, R11
	MOVQ end-8(SP), AX
	SUBQ b_base+0(FP), AX
	MOVQ AX, end+56(FP)
	SUBQ index+32(FP), DI
	SHRQ $1, DI
	MOVQ DI, n+64(FP)
	MOVQ R11, sum+72(FP)
	RET

no:
	VZEROUPPER
	MOVQ $0, end+56(FP)
	MOVQ $0, n+64(FP)
	MOVQ $0, sum+72(FP)
	RET
