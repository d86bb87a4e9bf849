/* Additional heaps: what the program itself counts of its calls. Each request gets a segment of a page to itself. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <underbar/ceeedcct.h>

enum { ELEMENTS = 40 };

static unsigned long creates, discards, gets, frees, used, peak, allocated, freed;
static _FEEDBACK fc;

static void expect_success(void) {
    if (_FBCHECK(fc, CEE000) != 0) {
        fprintf(stderr, "message %d\n", fc.tok_msgno);
        exit(1);
    }
}

static _INT4 create(_INT4 options) {
    _INT4 heap, page = 4096;
    CEECRHP(&heap, &page, &page, &options, &fc);
    expect_success();
    creates++;
    return heap;
}

/* An element's block has eight bytes more than the element. */
static unsigned long bytes_of(_POINTER address) { return malloc_usable_size(address) + 8; }

static _POINTER get(_INT4 heap) {
    _INT4 size = 4000;
    _POINTER address;
    CEEGTST(&heap, &size, &address, &fc);
    expect_success();
    memset(address, 1, size);
    gets++, allocated++;
    used += bytes_of(address);
    if (used > peak) peak = used;
    return address;
}

static void give_back(_POINTER address, int is_freed) {
    used -= bytes_of(address);
    frees++, freed += is_freed;
    CEEFRST(&address, &fc);
    expect_success();
}

int main(void) {
    _CHAR80 heading;
    memset(heading, ' ', sizeof heading);
    memcpy(heading, "Heaps of our own", 16);
    CEE3RPH(heading, &fc);
    expect_success();
    _INT4 kept = create(70), given = create(1), lost = create(70);
    _POINTER of_kept[ELEMENTS], of_given[ELEMENTS], of_lost[ELEMENTS];
    for (int at = 0; at < ELEMENTS; at++) {
        of_kept[at] = get(kept);
        of_given[at] = get(given);
        of_lost[at] = get(lost);
    }
    /* Under FREE an empty increment goes back, but not the initial segment. */
    for (int at = 0; at < ELEMENTS; at += 2) {
        give_back(of_kept[at], 0);
        give_back(of_given[at], at > 0);
    }
    for (int at = 0; at < ELEMENTS; at++) used -= bytes_of(of_lost[at]);
    frees += ELEMENTS, freed += ELEMENTS;
    CEEDSHP(&lost, &fc);
    expect_success();
    discards++;
    /* Heap 0 is none of them. */
    _INT4 user = 0, size = 100000;
    _POINTER address;
    CEEGTST(&user, &size, &address, &fc);
    expect_success();
    CEEFRST(&address, &fc);
    expect_success();
    printf("creates %lu discards %lu gets %lu frees %lu used %lu peak %lu allocated %lu freed %lu\n", creates, discards, gets,
           frees, used, peak, allocated, freed);
    return 0;
}
