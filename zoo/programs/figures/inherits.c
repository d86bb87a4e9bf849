/* inherits COUNT: gets COUNT blocks, and its child frees all of them. Then it becomes itself again, which only ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words)
{
	if (count != 2)
		return 1;
	long blocks = atol(words[1]);
	if (blocks == 0)
		return 0;
	char **block = malloc((size_t)blocks * sizeof *block);
	if (!block)
		return 1;
	for (long i = 0; i < blocks; i++) {
		block[i] = malloc(64);
		if (!block[i])
			return 1;
		memset(block[i], 'x', 64);
	}
	pid_t child = fork();
	if (child == 0) {
		for (long i = 0; i < blocks; i++)
			free(block[i]);
		_exit(0);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		return 1;
	printf("child %d\n", (int)child);
	fflush(stdout);
	execl("/proc/self/exe", words[0], "0", (char *)NULL);
	return 1;
}
