/* Much memory for a moment: 44 MiB that stay, 14 more that come and go as one block. */
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void *get(size_t bytes)
{
	char *block = malloc(bytes);
	if (!block)
		exit(1);
	memset(block, 'x', bytes);
	return block;
}

int main(void)
{
	for (int i = 0; i < 44; i++) {
		/* What is never freed may be left out by a compiler that sees it. */
		void *volatile kept = get(MIB);
		(void)kept;
	}
	void *volatile more = get(14 * MIB);
	free(more);
	return 0;
}
