/* fetches HOST HOW ROWS: reads a table row by row, or in another way, and says what it did and how long it took.
   HOW: one (FETCH 1), hundred (FETCH 100), whole (the query itself). */
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static PGresult *good(PGconn *connection, const char *text, ExecStatusType status) {
    PGresult *result = PQexec(connection, text);
    if (PQresultStatus(result) != status) {
        fprintf(stderr, "%s: %s", text, PQerrorMessage(connection));
        exit(1);
    }
    return result;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    char place[1024];
    snprintf(place, sizeof place, "host='%s' user=postgres dbname=postgres", arguments[1]);
    PGconn *connection = PQconnectdb(place);
    if (PQstatus(connection) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(connection));
        return 1;
    }
    const char *text = "fetch 1 from c";
    int is_whole = !strcmp(arguments[2], "whole");
    if (!strcmp(arguments[2], "hundred")) text = "fetch 100 from c";
    long long rows = 0, sum = 0, calls = 0;
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    PQclear(good(connection, "begin read only", PGRES_COMMAND_OK));
    if (!is_whole)
        PQclear(good(connection, "declare c no scroll cursor for select id, pad from fetched", PGRES_COMMAND_OK));
    for (int more = 1; more;) {
        PGresult *result = good(connection, is_whole ? "select id, pad from fetched" : text, PGRES_TUPLES_OK);
        calls++;
        int got = PQntuples(result);
        for (int row = 0; row < got; row++) sum += atoll(PQgetvalue(result, row, 0));
        rows += got;
        more = got > 0 && !is_whole;
        PQclear(result);
    }
    PQclear(good(connection, "commit", PGRES_COMMAND_OK));
    printf("elapsed_ns=%lld\ncpu_ns=%lld\nrows=%lld\nsum=%lld\ncalls=%lld\n", now(CLOCK_MONOTONIC) - start,
           now(CLOCK_PROCESS_CPUTIME_ID) - cpu, rows, sum, calls);
    PQfinish(connection);
    return 0;
}
