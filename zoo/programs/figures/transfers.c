/* transfers MODE READS WRITES: reads and writes READS and WRITES times 100 bytes, and prints how many of each the kernel has
   counted for it until then. MODE is `ends`, `killed` (by itself), `threads` (half of them in a thread) or `child`
   (half of them in a child, which is waited for). */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long reads, writes;

static void *transfer(void *unused) {
    (void)unused;
    char bytes[100] = {0};
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    for (long i = 0; i < reads; i++)
        if (read(zero, bytes, sizeof bytes) != sizeof bytes) _exit(2);
    for (long i = 0; i < writes; i++)
        if (write(null, bytes, sizeof bytes) != sizeof bytes) _exit(2);
    close(zero);
    close(null);
    return NULL;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    int apart = !strcmp(words[1], "threads") || !strcmp(words[1], "child");
    reads = atol(words[2]) / (1 + apart);
    writes = atol(words[3]) / (1 + apart);
    transfer(NULL);
    if (!strcmp(words[1], "threads")) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, transfer, NULL) || pthread_join(thread, NULL)) return 2;
    }
    if (!strcmp(words[1], "child")) {
        pid_t child = fork();
        if (child == 0) {
            transfer(NULL);
            kill(getpid(), SIGKILL);
        }
        if (waitpid(child, NULL, 0) != child) return 2;
    }
    char text[512] = {0}, said[256];
    int account = open("/proc/self/io", O_RDONLY);
    if (read(account, text, sizeof text - 1) <= 0) return 3;
    unsigned long long read_bytes, written_bytes, read_calls, write_calls;
    if (sscanf(text, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &read_bytes, &written_bytes, &read_calls,
               &write_calls) != 4)
        return 3;
    /* The counts of this read and the write below: the account from before the read does not have them. */
    int length = snprintf(said, sizeof said, "rchar %llu wchar %llu syscr %llu syscw %llu own %zu\n", read_bytes,
                          written_bytes, read_calls, write_calls, strlen(text));
    if (write(1, said, length) != length) return 2;
    if (!strcmp(words[1], "killed")) kill(getpid(), SIGKILL);
    return 0;
}
