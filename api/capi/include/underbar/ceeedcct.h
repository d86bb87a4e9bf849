/* underbar/ceeedcct.h: Language Environment's callable services for storage: additional heaps.
 *
 * A program that underbar runs finds these functions in it. They are weak: elsewhere the program starts all the same, and
 * their addresses are null.
 *
 *     if (CEECRHP) { ... }
 *
 * All arguments are passed by reference, in this order; the last one, the feedback code, may be null. Sizes are in bytes.
 *
 *     _INT4 heap, initial = 65536, increment = 0, options = 0, size = 4000;
 *     _POINTER address;
 *     _FEEDBACK fc;
 *     CEECRHP(&heap, &initial, &increment, &options, &fc);
 *     CEEGTST(&heap, &size, &address, &fc);
 *     if (_FBCHECK(fc, CEE000) != 0) printf("message %d\n", fc.tok_msgno);
 *
 * A wrong heap or address is a feedback code, and never the end of the program. Without a heap or storage the id is -1 and the
 * address null. Threads may call these functions at any time; signal handlers may not.
 */
#ifndef UNDERBAR_CEEEDCCT_H
#define UNDERBAR_CEEEDCCT_H

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int _INT4;
typedef void *_POINTER;
typedef char _CHAR80[80];

/* A feedback code. Bytes 0 to 7 tell the condition. */
typedef struct {
    short tok_sev;        /* 0 to 4 */
    short tok_msgno;      /* the number of the message; 0: the service did what was asked */
    int tok_case : 2,     /* 1 */
        tok_sever : 3,    /* the severity again */
        tok_ctrl : 3;     /* 1 */
    char tok_facid[3];    /* "CEE" */
    int tok_isi;          /* 0 */
} _FEEDBACK;

/* 0 if a feedback code is that of a condition. */
#define _FBCHECK(fc, condition) (memcmp(&(fc), (condition), 8))

/* Creates a heap. Sizes are rounded up to 4,096; 0: as HEAP says. Options: 0 as HEAP says, 1 (,,,FREE), 70 (,,,KEEP),
 * 71 (,,ANYWHERE), 72 (,,ANYWHERE,KEEP), 73 (,,ANYWHERE,FREE), 74 (,,BELOW), 75 (,,BELOW,KEEP), 76 (,,BELOW,FREE). The location
 * has no effect. Heap 0 exists always: it is that of malloc.
 * CEE0P4, CEE0P5, CEE0P6: a bad size, increment or option. CEE0P9: there are 131,071 heaps. CEE0PD: no storage. */
void CEECRHP(_INT4 *heap, _INT4 *initial_size, _INT4 *increment, _INT4 *options, _FEEDBACK *fc) __attribute__((weak));

/* Gets an element, aligned to 16 bytes, filled as STORAGE says.
 * CEE0P2: the heap is damaged. CEE0P3: no such heap. CEE0P8: the size is not above 0. CEE0PD: no storage. */
void CEEGTST(_INT4 *heap, _INT4 *size, _POINTER *address, _FEEDBACK *fc) __attribute__((weak));

/* Changes the size of an element of any heap. The address may change. Without success the element stays as it is.
 * CEE0P2, CEE0P8, CEE0PD as above. CEE0PA: not the address of an element in use. */
void CEECZST(_POINTER *address, _INT4 *size, _FEEDBACK *fc) __attribute__((weak));

/* Gives an element of any heap back: one that CEEGTST or CEECZST got, which free may give back, too, if it is of heap 0.
 * CEE0P2: the program wrote past its end; it is not given back. CEE0PA: not the address of an element in use. */
void CEEFRST(_POINTER *address, _FEEDBACK *fc) __attribute__((weak));

/* Ends a heap, and gives all of its storage back at once. Other threads may be getting from it: from then on they are told CEE0P3.
 * CEE0P2: it was damaged, and is discarded all the same. CEE0P3: no such heap. CEE0PC: heap 0. */
void CEEDSHP(_INT4 *heap, _FEEDBACK *fc) __attribute__((weak));

/* Sets the heading of the storage report: 79 characters, padded with blanks. CEE3JK: it replaced another one. */
void CEE3RPH(const char *heading, _FEEDBACK *fc) __attribute__((weak));

/* The same functions by names in lower case. */
void ceecrhp(_INT4 *heap, _INT4 *initial_size, _INT4 *increment, _INT4 *options, _FEEDBACK *fc) __attribute__((weak));
void ceegtst(_INT4 *heap, _INT4 *size, _POINTER *address, _FEEDBACK *fc) __attribute__((weak));
void ceeczst(_POINTER *address, _INT4 *size, _FEEDBACK *fc) __attribute__((weak));
void ceefrst(_POINTER *address, _FEEDBACK *fc) __attribute__((weak));
void ceedshp(_INT4 *heap, _FEEDBACK *fc) __attribute__((weak));
void cee3rph(const char *heading, _FEEDBACK *fc) __attribute__((weak));

/* Conditions: the first eight bytes of their feedback codes. */
#define UNDERBAR_CEE_CONDITION(name, severity, message)                                                               \
    static const unsigned char name[8] __attribute__((unused)) = {                                                     \
        (severity) & 255, (severity) >> 8, (message) & 255, (message) >> 8, 1 | (severity) << 2 | 1 << 5, 'C', 'E', 'E'};

static const unsigned char CEE000[8] __attribute__((unused)) = {0}; /* the service did what was asked */
UNDERBAR_CEE_CONDITION(CEE0P2, 4, 802)  /* heap storage control information was damaged */
UNDERBAR_CEE_CONDITION(CEE0P3, 3, 803)  /* no such heap */
UNDERBAR_CEE_CONDITION(CEE0P4, 3, 804)  /* initial size */
UNDERBAR_CEE_CONDITION(CEE0P5, 3, 805)  /* increment */
UNDERBAR_CEE_CONDITION(CEE0P6, 3, 806)  /* options */
UNDERBAR_CEE_CONDITION(CEE0P8, 3, 808)  /* size of a request */
UNDERBAR_CEE_CONDITION(CEE0P9, 3, 809)  /* as many heaps as there can be */
UNDERBAR_CEE_CONDITION(CEE0PA, 3, 810)  /* address */
UNDERBAR_CEE_CONDITION(CEE0PC, 3, 812)  /* the initial heap */
UNDERBAR_CEE_CONDITION(CEE0PD, 3, 813)  /* not enough storage */
UNDERBAR_CEE_CONDITION(CEE3JK, 0, 3700) /* the heading replaced an earlier one */

#ifdef __cplusplus
}
#endif

#endif
