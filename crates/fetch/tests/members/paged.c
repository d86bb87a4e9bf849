/* Half a megabyte of constants: most of its pages are not read at LOAD. */
const unsigned char area[500000] = {[0] = 1, [499999] = 1};

long paged(long x) {
    long sum = 0;
    for (long at = 0; at < 500000; at += 1000)
        sum += area[at];
    return sum + area[499999] + x;
}
