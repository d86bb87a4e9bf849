/* underbar/ecb.h: a heap for each unit of work (an ECB), freed at once; buffers found by name; the names of z/TPF.
 *
 * A program that underbar runs finds these functions in it. They are weak: elsewhere the program starts all the same, and
 * their addresses are null. underbar_ecb_begin, underbar_ecb_finish and UNDERBAR_OUTSIDE below ask for that themselves:
 *
 *     underbar_ecb ecb = underbar_ecb_begin("HTTP");
 *     handle(request);                        malloc, calloc, realloc, free and new are served from the ECB's heap
 *     UNDERBAR_OUTSIDE(remember(key, value)); this storage outlives the ECB
 *     underbar_ecb_finish(ecb);               all of the ECB's storage is back, however much it is
 *
 * Several threads may be in one ECB, and a thread may keep several ECBs alive. An ECB may be ended by any thread, once nobody else
 * is in it. A thread that ends leaves the ECBs that it entered. Signal handlers may not call these functions.
 *
 * What outlives an ECB must not be allocated in it: see docs/ecb.md.
 */
#ifndef UNDERBAR_ECB_H
#define UNDERBAR_ECB_H

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNDERBAR_ECB_WEAK __attribute__((weak))

/* An ECB; 0: none. Numbers are not used again. */
typedef uint64_t underbar_ecb;

/* Creates an ECB of a class. A class has its own list sizes (AVL), and its own lines in reports. Without storage 0, and ENOMEM. */
UNDERBAR_ECB_WEAK underbar_ecb underbar_ecb_create(const char *class_name);
/* The calling thread is served from the ECB's heap from now on. 0; EINVAL: unknown or ended; ENOMEM. */
UNDERBAR_ECB_WEAK int underbar_ecb_enter(underbar_ecb ecb);
/* Leaves the ECB that was entered last, and returns to the one before. 0; EPERM: the thread is in none. */
UNDERBAR_ECB_WEAK int underbar_ecb_leave(void);
/* Ends an ECB: all of its storage is free. If the caller is in it, it leaves it first.
 * 0; EBUSY: another thread is in it, or the caller has entered it twice, or others since: nothing has changed; EINVAL: unknown or ended. */
UNDERBAR_ECB_WEAK int underbar_ecb_end(underbar_ecb ecb);
/* The ECB that was entered last; 0: none. */
UNDERBAR_ECB_WEAK underbar_ecb underbar_ecb_current(void);

/* Attaches a name-value pair to the current ECB, as ("TRANSACTION", "PAY"): reports then have the ECBs of each pair. It replaces the
 * ECB's pair of that name; NULL as a value takes it away. Name and value have at most 32 bytes, an ECB at most 4 pairs. Which pairs have a
 * row of their own: see docs/ecb.md. 0; EINVAL: a name of no byte; ENAMETOOLONG; ENOSPC: a fifth pair; EPERM: the thread is in no ECB. */
UNDERBAR_ECB_WEAK int underbar_ecb_name(const char *name, const char *value);

/* An ECB that is alive, as of now. Lists are AVL1 to AVL5, and all others together. */
struct underbar_ecb_figures {
    char class_name[40];
    uint32_t counted;        /* 0: the figures of its lists are 0, as it began before its class was counted by ECB */
    uint32_t threads;        /* that are inside */
    uint64_t sizes[5];       /* bytes of a buffer of AVL1 to AVL5; 0: not in use */
    uint64_t dispensed[6];   /* buffers that each list dispensed, */
    uint64_t freed[6];       /* and those of them that were freed */
    uint64_t shared[6];      /* requests that lists shared by its threads filled, */
    uint64_t new_storage[6]; /* and those for which room was made; a thread's own lists filled all others */
    uint64_t buffers, bytes; /* in use */
    uint64_t high_water, high_water_31; /* the most bytes of storage, above 2 GiB and below */
    uint64_t frames;         /* of 1 MiB */
    uint64_t names, name_table; /* names of buffers, and for how many the table has room */
};
/* The figures of an ECB, of size sizeof *figures; ecb 0: of the one that the caller is in. Lists are counted by ECB from the first call for an
 * ECB of the class on, from the class's first name-value pair on, and under RPTSTG(ON). What a thread does is counted when it leaves, and for
 * the caller now. 0; EINVAL: unknown or ended; EPERM: 0, and the caller is in none. Any thread may ask, at any time. */
UNDERBAR_ECB_WEAK int underbar_ecb_figures(underbar_ecb ecb, struct underbar_ecb_figures *figures, size_t size);
/* Writes them to a file in the layout of ZDECB HAVL, with the names of buffers and the name-value pairs. underbar advise reads it. The same
 * errors. */
UNDERBAR_ECB_WEAK int underbar_ecb_display(underbar_ecb ecb, int fd);

/* Between these two the calling thread is served from the process's heap. Pairs may be nested. */
UNDERBAR_ECB_WEAK void underbar_ecb_step_outside(void);
UNDERBAR_ECB_WEAK void underbar_ecb_step_inside(void);
/* malloc, calloc and realloc from the process's heap, wherever the thread is. free gives the storage back. */
UNDERBAR_ECB_WEAK void *underbar_process_malloc(size_t size);
UNDERBAR_ECB_WEAK void *underbar_process_calloc(size_t count, size_t size);
UNDERBAR_ECB_WEAK void *underbar_process_realloc(void *buffer, size_t size);

/* Gives a buffer of the current ECB a name of 1 to 40 bytes. Several buffers may have the same name; a freed buffer has none.
 * 0; EINVAL: not a buffer in use of this ECB, or a name of no bytes; ENAMETOOLONG; EPERM: the thread is in no ECB; ENOMEM. */
UNDERBAR_ECB_WEAK int underbar_ecb_tag(void *buffer, const void *name, size_t length);
/* Takes the name from a buffer. 0; ENOENT: it has none. EINVAL: not a buffer of an ECB. */
UNDERBAR_ECB_WEAK int underbar_ecb_untag(void *buffer);
/* The buffer of this name in the current ECB; null, and ENOENT: there is none; EINVAL, ENAMETOOLONG: the name is none; EPERM: the thread
 * is in no ECB. after: null for the first one, the last answer for the next. */
UNDERBAR_ECB_WEAK void *underbar_ecb_locate(const void *name, size_t length, void *after);

/* Creates an ECB and enters it. 0 without underbar, or without storage: the process's heap serves. */
static inline underbar_ecb underbar_ecb_begin(const char *class_name) {
    underbar_ecb ecb = underbar_ecb_create ? underbar_ecb_create(class_name) : 0;
    if (ecb && underbar_ecb_enter(ecb)) {
        underbar_ecb_end(ecb);
        ecb = 0;
    }
    return ecb;
}

/* Leaves and ends what underbar_ecb_begin gave. */
static inline int underbar_ecb_finish(underbar_ecb ecb) { return ecb ? underbar_ecb_end(ecb) : 0; }

/* Runs statements that are served from the process's heap. They must not leave by return, goto or longjmp. */
#define UNDERBAR_OUTSIDE(...)                                      \
    do {                                                           \
        if (underbar_ecb_step_outside) underbar_ecb_step_outside(); \
        __VA_ARGS__;                                               \
        if (underbar_ecb_step_inside) underbar_ecb_step_inside();   \
    } while (0)

/* The names of z/TPF. Its macros MALOC, CALOC, RALOC and FREEC are the C functions malloc, calloc, realloc and free here, EHEAPC
 * the functions below. free gives back what the 64-bit forms gave, as there. Define UNDERBAR_ECB_NO_TPF if the program has functions of
 * these names. */
#ifndef UNDERBAR_ECB_NO_TPF

#define TPF_EHEAP_NAME_LENGTH 8

/* EHEAPC FUNC=CREATE: gives a buffer a name of 8 bytes. 0, or a value of errno; ENOSYS without underbar. */
static inline int tpf_eheap_tag(void *buffer, const char name[TPF_EHEAP_NAME_LENGTH]) {
    return underbar_ecb_tag ? underbar_ecb_tag(buffer, name, TPF_EHEAP_NAME_LENGTH) : ENOSYS;
}
/* EHEAPC FUNC=LOCATE: the buffer of a name of 8 bytes; null: there is none. */
static inline void *tpf_eheap_locate(const char name[TPF_EHEAP_NAME_LENGTH]) {
    return underbar_ecb_locate ? underbar_ecb_locate(name, TPF_EHEAP_NAME_LENGTH, NULL) : NULL;
}
/* The same, with the size of the buffer, as far as *size is to be known. It is said to locate a tagged buffer, too, but no public page has its
 * arguments: these are those of tpf_fsysc, which does the same for the system heap. A program with others does not compile. */
static inline void *tpf_heap_locate_ext(const char name[TPF_EHEAP_NAME_LENGTH], long *size) {
    void *buffer = tpf_eheap_locate(name);
    if (size) *size = buffer ? (long)malloc_usable_size(buffer) : 0;
    return buffer;
}
/* Takes all names from a buffer. 0, or a value of errno; ENOENT: it has none; ENOSYS without underbar. */
static inline int tpf_eheap_untag(void *buffer) { return underbar_ecb_untag ? underbar_ecb_untag(buffer) : ENOSYS; }
/* Accepted, without effect: whether storage is checked is said at the start, by HEAPCHK and ECB(CHECK). 0. */
#define TPF_EHEAP_HEAPCHECK_DISABLE 0
static inline int tpf_eheap_heapcheck(int what) { return (void)what, 0; }
/* Every address has 64 bits here. Storage below 2 GiB, which malloc gives there: __malloc31 in underbar/malloc31.h. Inside an ECB it
 * comes from a part of the ECB, and ends with it. */
static inline void *malloc64(size_t size) { return malloc(size); }
static inline void *calloc64(size_t count, size_t size) { return calloc(count, size); }
static inline void *realloc64(void *buffer, size_t size) { return realloc(buffer, size); }

#endif

#ifdef __cplusplus
}
#endif

#endif
