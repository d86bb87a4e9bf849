/* A program with its own allocator, which has its memory before any library is initialised, as in Chromium. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

static char heap[1 << 20];
static size_t used;

void *malloc(size_t bytes)
{
	size_t at = __atomic_fetch_add(&used, (bytes + 15) / 16 * 16, __ATOMIC_RELAXED);
	return at + bytes <= sizeof heap ? heap + at : NULL;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *block, size_t bytes)
{
	void *other = malloc(bytes);
	if (block && other)
		memmove(other, block, bytes < (size_t)(heap + sizeof heap - (char *)block) ? bytes : (size_t)(heap + sizeof heap - (char *)block));
	return other;
}

static const size_t bytes = 12 << 20;
static char *memory;

static void early(void)
{
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	memset(memory, 'x', bytes);
	/* Much was mapped: a moment to look. */
	(void)!mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Before the constructors of all libraries. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = early;

int main(void)
{
	/* What is looked at later is less. */
	return munmap(memory, bytes) ? 1 : 0;
}
