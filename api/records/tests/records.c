/* Sorts a file, reads it record by record, and meets errors. The folder is the argument. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <underbar/records.h>

#define HOLD(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s: %s\n", __LINE__, #condition, underbar_records_message()); \
            return 1; \
        } \
    } while (0)

int main(int count, char **words)
{
    HOLD(count == 2 && chdir(words[1]) == 0);
    unlink("out");
    FILE *file = fopen("in", "w");
    HOLD(file && fputs("c3a1b2", file) >= 0 && fclose(file) == 0);
    const char *inputs[] = {"in"};
    HOLD(underbar_records_sort(inputs, 1, "out", "F(2)", "SORT FIELDS=(1,1,CH,A)", 0, 0) == 0);
    underbar_records *records = underbar_records_open("out", "F(2)");
    HOLD(records);
    const unsigned char *data;
    size_t length;
    const char *expect[] = {"a1", "b2", "c3"};
    for (int at = 0; at < 3; at++) {
        HOLD(underbar_records_next(records, &data, &length) == 1);
        HOLD(length == 2 && memcmp(data, expect[at], 2) == 0);
    }
    HOLD(underbar_records_next(records, &data, &length) == 0 && length == 0);
    underbar_records_close(records);
    underbar_records_close(NULL);

    HOLD(underbar_records_sort(inputs, 1, "out", "F(2)", "SORT FIELDS=COPY", 0, 0) == -1);
    HOLD(strcmp(underbar_records_message(), "out: it exists already, and was left alone") == 0);
    HOLD(underbar_records_sort(inputs, 1, "out", "F(2)", "SORT FIELDS=COPY", 1 << 20, 1) == 0);
    HOLD(underbar_records_sort(inputs, 1, "new", "F(2)", "SORT FIELDS=(2,1,PD,A)", 0, 0) == -1);
    HOLD(strstr(underbar_records_message(), "in, record 1 at byte 0: byte 1 of the PD field at byte 2 is X'33'"));
    HOLD(access("new", F_OK) == -1);
    HOLD(underbar_records_sort(inputs, 1, "new", "F(2)", "SORT", 0, 0) == -1);
    HOLD(strcmp(underbar_records_message(), "line 1: the statement ends where FIELDS is needed") == 0);
    HOLD(underbar_records_open("in", "X") == NULL && strstr(underbar_records_message(), "is not a form of records"));
    HOLD(underbar_records_open("nowhere", "V") == NULL && strstr(underbar_records_message(), "nowhere: No such file"));
    records = underbar_records_open("in", "F(4)");
    HOLD(records && underbar_records_next(records, &data, &length) == 1 && length == 4);
    HOLD(underbar_records_next(records, &data, &length) == -1 && data == NULL);
    HOLD(strstr(underbar_records_message(), "in, record 2 at byte 4: the file ends after 2 of the 4 bytes"));
    underbar_records_close(records);

    HOLD(underbar_rows_open("host=/nowhere/at/all dbname=x", "select 1", 100) == NULL);
    HOLD(strstr(underbar_records_message(), "/nowhere/at/all") || strstr(underbar_records_message(), "libpq cannot be loaded"));
    underbar_rows_close(NULL);
    puts("all held");
    return 0;
}
