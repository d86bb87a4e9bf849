/* statements FILE HOST: executes each line of the file as one statement, and prints all that libpq tells about its result.
   A line that begins with @params, @prepare NAME, @prepared NAME, @send or @binary goes another way; @reset begins anew. */
#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show(PGconn *connection, PGresult *result) {
    printf("  %s, tag '%s', %d rows of %d\n", PQresStatus(PQresultStatus(result)), PQcmdStatus(result), PQntuples(result),
           PQnfields(result));
    if (PQresultStatus(result) == PGRES_FATAL_ERROR)
        printf("  %s %s", PQresultErrorField(result, PG_DIAG_SQLSTATE), PQresultErrorMessage(result));
    printf("  message '%s', in transaction %d, tuples '%s'\n", PQerrorMessage(connection), PQtransactionStatus(connection),
           PQcmdTuples(result));
    for (int column = 0; column < PQnfields(result); column++)
        printf("  column %s, type %u, size %d, modifier %d, of a table %d, column %d, format %d\n", PQfname(result, column),
               PQftype(result, column), PQfsize(result, column), PQfmod(result, column), PQftable(result, column) != 0,
               PQftablecol(result, column), PQfformat(result, column));
    for (int row = 0; row < PQntuples(result); row++) {
        printf("  row");
        for (int column = 0; column < PQnfields(result); column++)
            if (PQgetisnull(result, row, column)) printf(" NULL(%d)", PQgetlength(result, row, column));
            else if (PQfformat(result, column)) printf(" binary %d", PQgetlength(result, row, column));
            else printf(" '%s'(%d)", PQgetvalue(result, row, column), PQgetlength(result, row, column));
        printf("\n");
    }
    PQclear(result);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    char place[512];
    snprintf(place, sizeof place, "host=%s user=postgres dbname=postgres", arguments[2]);
    PGconn *connection = PQconnectdb(place);
    if (PQstatus(connection) != CONNECTION_OK) {
        fprintf(stderr, "%s", PQerrorMessage(connection));
        return 1;
    }
    static char line[65536];
    FILE *file = fopen(arguments[1], "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        printf("%s\n", line);
        char name[64];
        int length = 0;
        if (!strncmp(line, "@params ", 8)) {
            show(connection, PQexecParams(connection, line + 8, 0, 0, 0, 0, 0, 0));
        } else if (!strncmp(line, "@binary ", 8)) {
            show(connection, PQexecParams(connection, line + 8, 0, 0, 0, 0, 0, 1));
        } else if (sscanf(line, "@prepare %63s %n", name, &length) == 1) {
            show(connection, PQprepare(connection, name, line + length, 0, 0));
        } else if (sscanf(line, "@prepared %63s", name) == 1) {
            show(connection, PQexecPrepared(connection, name, 0, 0, 0, 0, 0));
        } else if (!strncmp(line, "@send ", 6)) {
            printf("  sent %d\n", PQsendQuery(connection, line + 6));
            for (PGresult *result; (result = PQgetResult(connection));) show(connection, result);
        } else if (!strcmp(line, "@reset")) {
            PQreset(connection);
            printf("  status %d\n", PQstatus(connection));
        } else {
            show(connection, PQexec(connection, line));
        }
    }
    PQfinish(connection);
    return 0;
}
