/* A program of one function, and a global that it changes. */
static int count = 40;
static int zeros[3];

int tiny(int x) { return x + 1; }

int next(int x) {
    zeros[1] += x;
    return ++count + zeros[1] - zeros[1];
}

int zero(int x) {
    (void)x;
    return zeros[1];
}
