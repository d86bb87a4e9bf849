/* The whole C family: results, alignment, errno, bad arguments. What it prints is the same with any allocator
 * that keeps to C, POSIX and glibc 2.26 or later. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static volatile size_t huge = SIZE_MAX - 100, half = SIZE_MAX / 2 + 1, zero = 0, one = 1;

static const char *error_name(int error) {
    return error == 0 ? "0" : error == ENOMEM ? "ENOMEM" : error == EINVAL ? "EINVAL" : error == 77 ? "kept" : "?";
}

/* Null or aligned to `align` with room for `size`, all of it written; then freed. */
static void say(const char *what, void *got, size_t align, size_t size) {
    int error = errno;
    if (!got) {
        printf("%-34s null %s\n", what, error_name(error));
    } else {
        int good = (uintptr_t)got % align == 0 && malloc_usable_size(got) >= size;
        memset(got, 0xa5, malloc_usable_size(got));
        free(got);
        printf("%-34s %s\n", what, good ? "good" : "WRONG");
    }
    errno = 77;
}

static int all_zero(const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return 0;
    return 1;
}

int main(void) {
    char name[64];
    errno = 77;
    for (size_t size = 0; size < 300000; size = size < 40 ? size + 1 : size * 5 / 4) {
        char *a = malloc(size), *b = malloc(size);
        if (!a || !b || a == b || (uintptr_t)a % 16 || malloc_usable_size(a) < size) printf("malloc %zu WRONG\n", size);
        memset(a, 1, size), memset(b, 2, size);
        if (size && (a[0] != 1 || a[size - 1] != 1)) printf("malloc %zu OVERLAP\n", size);
        free(a), free(b);
        char *c = calloc(size, 1);
        if (!c || !all_zero(c, size)) printf("calloc %zu WRONG\n", size);
        free(c);
    }
    say("malloc(0)", malloc(zero), 16, 0);
    say("calloc(0, 5)", calloc(zero, 5), 16, 0);
    say("calloc(5, 0)", calloc(5, zero), 16, 0);
    say("malloc(huge)", malloc(huge), 16, 0);
    say("malloc(half)", malloc(half), 16, 0);
    say("malloc(2^46)", malloc(one << 46), 16, 0);
    say("calloc(half, 2)", calloc(half, 2), 16, 0);
    say("calloc(huge, huge)", calloc(huge, huge), 16, 0);
    say("realloc(null, 100)", realloc(NULL, 100), 16, 100);
    say("realloc(null, 0)", realloc(NULL, zero), 16, 0);
    say("reallocarray(null, half, 2)", reallocarray(NULL, half, 2), 16, 0);
    say("reallocarray(null, 10, 10)", reallocarray(NULL, 10, 10), 16, 100);
    for (size_t align = 1; align <= 1 << 22; align *= 2) {
        snprintf(name, sizeof name, "memalign(%zu, 100)", align);
        say(name, memalign(align, 100), align, 100);
        snprintf(name, sizeof name, "aligned_alloc(%zu, 3 * %zu)", align, align);
        say(name, aligned_alloc(align, 3 * align), align, 3 * align);
        void *p = (void *)0x1234;
        int result = posix_memalign(&p, align, 1000);
        printf("posix_memalign(%zu): %s, errno %s%s\n", align, error_name(result), error_name(errno),
               result && p != (void *)0x1234 ? " CHANGED" : "");
        if (!result) say("  what it gave", p, align, 1000);
    }
    say("memalign(0, 10)", memalign(zero, 10), 16, 10);
    say("memalign(48, 10)", memalign(48, 10), 16, 10);
    say("memalign(half + 1, 10)", memalign(half + 1, 10), 16, 10);
    say("memalign(64, huge)", memalign(64, huge), 16, 10);
    void *untouched = &untouched;
    size_t bad[] = {0, 1, 2, 4, 24, 48, 100};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int result = posix_memalign(&untouched, bad[i], 8);
        printf("posix_memalign(%zu): %s, errno %s, %s\n", bad[i], error_name(result), error_name(errno),
               untouched == &untouched ? "untouched" : "CHANGED");
    }
    for (size_t size = huge; size >= huge / 4; size /= 2) {
        /* POSIX leaves errno open; glibc sets it, too. */
        errno = 77;
        int result = posix_memalign(&untouched, 64, size);
        printf("posix_memalign(64, %zu): %s, errno %s, %s\n", size, error_name(result), error_name(errno),
               untouched == &untouched ? "untouched" : "CHANGED");
    }
    errno = 77;
    say("valloc(10)", valloc(10), 4096, 10);
    say("valloc(huge)", valloc(huge), 4096, 10);
    say("pvalloc(10)", pvalloc(10), 4096, 4096);
    say("pvalloc(4097)", pvalloc(4097), 4096, 8192);
    say("pvalloc(huge)", pvalloc(huge), 4096, 10);

    /* realloc: content, in both directions, and to nothing; what fails leaves the old one. */
    char *text = malloc(10);
    memcpy(text, "123456789", 10);
    for (size_t size = 10; size < 40000000; size *= 3) {
        text = realloc(text, size);
        memset(text + 10, 7, size - 10);
    }
    for (size_t size = 40000000; size >= 10; size /= 3) text = realloc(text, size);
    printf("after growing and shrinking: %s\n", text);
    errno = 77;
    printf("realloc(huge): %s", realloc(text, huge) ? "WRONG" : "null");
    printf(" %s, still %s\n", error_name(errno), text);
    errno = 77;
    printf("reallocarray(half, 4): %s", reallocarray(text, half, 4) ? "WRONG" : "null");
    printf(" %s, still %s\n", error_name(errno), text);
    text = reallocarray(text, 100, 100);
    printf("reallocarray: %s\n", text);
    errno = 77;
    void *gone = realloc(text, zero);
    printf("realloc(p, 0): %s, errno %s\n", gone ? "WRONG" : "null", error_name(errno));

    /* free keeps errno, whatever it has to do for it. */
    for (size_t size = 1; size <= 64 << 20; size *= 8) {
        void *p = malloc(size);
        errno = 77;
        free(p);
        if (errno != 77) printf("free of %zu bytes changed errno\n", size);
    }
    free(NULL);
    printf("usable size of null: %zu\n", malloc_usable_size(NULL));

    void *second = __libc_malloc(100);
    second = realloc(second, 50000);
    free(second);
    second = malloc(3000);
    __libc_free(__libc_realloc(second, 10));
    second = __libc_calloc(100, 100);
    printf("calloc by its second name: %s\n", all_zero(second, 10000) ? "zero" : "WRONG");
    free(second);
    say("memalign by its second name", __libc_memalign(256, 100), 256, 100);

    char *held = malloc(1000000);
    memset(held, 1, 1000000);
    struct mallinfo2 info = mallinfo2();
    struct mallinfo old = mallinfo();
    printf("mallinfo2: %s\n", info.uordblks + info.hblkhd >= 1000000 && info.arena + info.hblkhd >= 1000000 &&
           info.uordblks + info.fordblks == info.arena ? "good" : "WRONG");
    printf("mallinfo: %s\n", (size_t)old.arena == info.arena && (size_t)old.uordblks == info.uordblks ? "good" : "WRONG");
    free(held);
    info = mallinfo2();
    printf("mallinfo2 after free: %s\n", info.uordblks + info.hblkhd < 1000000 ? "good" : "WRONG");
    printf("mallopt: %d", mallopt(M_MXFAST, 64));
    printf(" %d %d", mallopt(M_MXFAST, 1 << 30), mallopt(M_MXFAST, -1));
    printf(" %d %d", mallopt(M_MMAP_THRESHOLD, 1 << 20), mallopt(M_MMAP_THRESHOLD, 1 << 30));
    printf(" %d %d\n", mallopt(M_PERTURB, 0), mallopt(12345, 1));
    int trimmed = malloc_trim(0);
    printf("malloc_trim: %s\n", trimmed == 0 || trimmed == 1 ? "good" : "WRONG");
    char *xml = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&xml, &length);
    printf("malloc_info(1): %s\n", error_name(malloc_info(1, stream)));
    printf("malloc_info(0): %s\n", error_name(malloc_info(0, stream)));
    fclose(stream);
    printf("xml: %s, %s\n", strncmp(xml, "<malloc version=\"1\">", 20) ? "WRONG" : "opens",
           strstr(xml, "</malloc>\n") == xml + length - 10 ? "closes" : "WRONG");
    free(xml);
    /* With standard error closed nothing may be written anywhere else, and nothing fails. */
    close(2);
    malloc_stats();
    printf("done\n");
    return 0;
}
