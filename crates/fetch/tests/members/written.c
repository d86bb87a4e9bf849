/* Two areas, of data and of zeros: writes each page, and says how many of the two were written before. */
char data[PAGES * 4096] = {7};
char zeros[PAGES * 4096];

long written(long x) {
    long first = 0, second = 0;
    for (long at = 0; at < PAGES * 4096; at += 4096) {
        first |= data[at + 9] != 0 || data[0] != 7;
        second |= zeros[at + 9] != 0;
        data[at + 9] = 1;
        zeros[at + 9] = 1;
    }
    return first + second + x;
}
