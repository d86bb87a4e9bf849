// parent_goes_on: children whose parent frees everything and ends before they run.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20, BLOCKS = 2000 };
static char *blocks[BLOCKS];

int main(void)
{
    // On one processor a parent goes on, and its child waits for the processor.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    for (int round = 0; round < ROUNDS; round++) {
        int pipe_of_end[2];
        if (pipe(pipe_of_end) != 0)
            return 1;
        if (fork() == 0) {
            for (int at = 0; at < BLOCKS; at++)
                blocks[at] = malloc(100);
            if (fork() == 0)
                exit(0);
            for (int at = 0; at < BLOCKS; at++)
                free(blocks[at]);
            exit(0);
        }
        close(pipe_of_end[1]);
        // Both ends are closed when parent and child have ended.
        char byte;
        while (read(pipe_of_end[0], &byte, 1) > 0)
            ;
        close(pipe_of_end[0]);
        wait(NULL);
    }
    puts("done");
    return 0;
}
