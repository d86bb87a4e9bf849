/* Gets a block of 64 KiB each millisecond, touches it, and frees all but the last one at the end: its heap grows in a straight line.
 * grows BLOCKS [CHILDREN]: each child does the same. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int count, char **words)
{
	int blocks = count > 1 ? atoi(words[1]) : 300;
	int children = count > 2 ? atoi(words[2]) : 0;
	struct timespec pause = { 0, 1000000 };
	char **all = calloc(blocks, sizeof *all);
	for (int child = 0; child < children; child++)
		if (fork() == 0)
			execl(words[0], words[0], words[1], (char *)NULL);
	for (int at = 0; at < blocks; at++) {
		all[at] = malloc(65536);
		memset(all[at], 1, 65536);
		nanosleep(&pause, NULL);
	}
	for (int at = 0; at < blocks - 1; at++)
		free(all[at]);
	while (wait(NULL) > 0)
		;
	return 0;
}
