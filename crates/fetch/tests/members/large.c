/* 65,536 words to be relocated, and a large area of zeros. */
struct row {
    const char *text;
    char rest[56];
};
static const char text[] = "relocated";
#define R {text, {0}}
#define R16 R, R, R, R, R, R, R, R, R, R, R, R, R, R, R, R
#define R256 R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16, R16
#define R4096 R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256, R256
QUALIFIER struct row rows[65536] = {R4096, R4096, R4096, R4096, R4096, R4096, R4096, R4096,
                                    R4096, R4096, R4096, R4096, R4096, R4096, R4096, R4096};
static char zeros[1 << 20];

long large(long x) { return rows[x & 65535].text == text && rows[x & 65535].text[0] == 'r'; }

/* Writes a page of each area. */
long scribble(long x) {
    struct row *row = (struct row *)&rows[x & 65535];
    long before = zeros[x] + (row->rest[0] != 0);
    zeros[x] = 1;
#ifdef CHANGES
    row->rest[0] = 1;
#endif
    return before;
}
