/* underbar/records.h: record files, read record by record and sorted; rows of PostgreSQL.
 *
 * Records are found in buffers of a MiB: the kernel is called once for each buffer, not for each record.
 *
 * Forms of records: "F(80)" for 80 bytes each, "V" or "V(84)" for record descriptor words, "U(32760)" for blocks, "LINES".
 * Statements are those of `underbar sort`, on lines of their own; docs/sort.md describes them.
 *
 * Link with libunderbar_records_c.a -lgcc_s -lpthread -ldl -lm. Each call may be made in any thread, but an open file is for one
 * thread at a time. None may be made in signal handlers.
 */
#ifndef UNDERBAR_RECORDS_H
#define UNDERBAR_RECORDS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open record file. */
typedef struct underbar_records underbar_records;

/* Opens a file. NULL: it cannot be opened, or the form is none. */
underbar_records *underbar_records_open(const char *path, const char *form);

/* Goes on to the next record. 1: there is one, and its data are at *data until the next call or the close; 0: the end;
 * -1: the file cannot be read, or its bytes are not records of the form. */
int underbar_records_next(underbar_records *records, const unsigned char **data, size_t *length);

/* Closes a file; NULL is allowed. */
void underbar_records_close(underbar_records *records);

/* Sorts, merges or copies `count` files into the file `output`, which gets its name when it is whole. `memory` is in bytes; 0
 * is the default. An existing output is only replaced if `replace` is not 0. Returns 0, or -1. */
int underbar_records_sort(const char *const *inputs, size_t count, const char *output, const char *form,
                          const char *statements, size_t memory, int replace);

/* Rows of a query of PostgreSQL, in a transaction of its own that is READ ONLY. */
typedef struct underbar_rows underbar_rows;

/* Connects, as libpq's connection texts say ("host=/run/postgresql dbname=payments"), and begins to read a query, one statement.
 * Rows are fetched in steps of 2, 4, 8 and so on, at most `factor` of them and about 256 KiB; 0 and 1: one by one. NULL: there is
 * no libpq.so.5, no connection, or the server refuses the query. */
underbar_rows *underbar_rows_open(const char *connection, const char *query, unsigned factor);

/* Goes on to the next row. 1: there is one; 0: the end; -1: the server failed in one of the rows of this step, or is gone. */
int underbar_rows_next(underbar_rows *rows);

/* Columns of the current row. */
size_t underbar_rows_columns(const underbar_rows *rows);

/* A value of the current row as a text, until the next call of underbar_rows_next or the close; NULL: it is NULL, or there is no
 * such column (the first one is 0). `length` may be NULL. */
const char *underbar_rows_value(const underbar_rows *rows, size_t column, size_t *length);

/* Ends the query, its transaction and its connection; NULL is allowed. */
void underbar_rows_close(underbar_rows *rows);

/* Why the last call in this thread failed that returned NULL or -1: file, record, offset and reason. It is valid until the
 * next call in this thread. */
const char *underbar_records_message(void);

#ifdef __cplusplus
}
#endif
#endif
