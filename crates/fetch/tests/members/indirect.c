/* A function chosen at loading, one that is exported so, and addresses in data. */
static long one(long x) { return x + 1; }
static long two(long x) { return x + 2; }
static long (*choose(void))(long) { return two; }
static long hidden(long x) __attribute__((ifunc("choose")));
long indirect(long x) __attribute__((ifunc("choose")));
static long (*const table[])(long) = {one, two, hidden};

long through(long x) { return table[0](x) * 100 + table[2](x) * 10 + indirect(x); }
