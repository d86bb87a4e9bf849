/* What PostgreSQL's memory contexts call beyond themselves: errors, which end the run, and what no workload reaches. */
#include "postgres.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#undef fprintf
#undef printf
#undef snprintf
#include <stdio.h>
#include <stdlib.h>

static void fail(void) {
    fputs("driver: an error of AllocSet\n", stderr);
    exit(2);
}

bool errstart(int level, const char *domain) { fail(); return false; }
bool errstart_cold(int level, const char *domain) { fail(); return false; }
void errfinish(const char *file, int line, const char *function) { fail(); }
int errcode(int code) { return 0; }
int errmsg(const char *format, ...) { return 0; }
int errmsg_internal(const char *format, ...) { return 0; }
int errdetail(const char *format, ...) { return 0; }
int errhidestmt(bool hide) { return 0; }
int errhidecontext(bool hide) { return 0; }
bool stack_is_too_deep(void) { return false; }
int pg_mbcliplen(const char *text, int length, int limit) { return length < limit ? length : limit; }
int pg_fprintf(FILE *to, const char *format, ...) { return 0; }
int pg_snprintf(char *to, size_t length, const char *format, ...) { return 0; }
