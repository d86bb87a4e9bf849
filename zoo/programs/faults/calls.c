/* calls: `syscall` with every number of arguments, six included; calls that fail and set errno; calls that succeed and leave it
   alone; one after which a thread is cancelled, since `syscall` is no cancellation point; the two that underbar inspects. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHECK(that) \
    do { \
        if (!(that)) { \
            printf("line %d: %s, errno %d\n", __LINE__, #that, errno); \
            return 1; \
        } \
    } while (0)

static int ends[2];

static void *reading(void *passed) {
    char byte;
    if (syscall(SYS_read, ends[0], &byte, 1L) == 1) *(char *)passed = byte;
    pthread_testcancel();
    *(char *)passed = 0;
    return NULL;
}

int main(void) {
    errno = 77;
    CHECK(syscall(SYS_getpid) == getpid() && errno == 77);
    CHECK(syscall(SYS_gettid) == gettid() && errno == 77);
    CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
    CHECK(syscall(0x40000000L) == -1 && errno == ENOSYS);
    /* The sixth argument is on the stack: the second page of the program's own file. */
    FILE *file = fopen("/proc/self/exe", "r");
    CHECK(file);
    char bytes[4096], second[4096];
    CHECK(fread(bytes, 1, sizeof bytes, file) == sizeof bytes && fread(second, 1, sizeof second, file) == sizeof second);
    errno = 77;
    char *page = (char *)syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fileno(file), 4096L);
    CHECK(page != MAP_FAILED && errno == 77 && !memcmp(page, second, sizeof second));
    CHECK(syscall(SYS_mmap, NULL, 4096L, PROT_READ, MAP_PRIVATE, fileno(file), 4095L) == -1 && errno == EINVAL);
    /* An address in the upper half of the space as a result is not a failure. */
    CHECK(syscall(SYS_munmap, page, 4096L) == 0);
    CHECK(syscall(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
    CHECK(syscall(SYS_prctl, -1, 0, 0, 0, 0) == -1 && errno == EINVAL);
    /* Calls by which libraries test the kernel's features. */
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == -1 && (errno == EFAULT || errno == EACCES));
    CHECK(syscall(SYS_seccomp, 99, 0, NULL) == -1 && errno == EINVAL);
    pthread_t thread;
    char passed = 0;
    CHECK(!pipe(ends) && !pthread_create(&thread, NULL, reading, &passed) && !pthread_cancel(thread));
    CHECK(write(ends[1], "x", 1) == 1 && !pthread_join(thread, NULL) && passed == 'x');
    return 0;
}
