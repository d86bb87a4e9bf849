/* Messages over TLS, client and server in one process, by the system's OpenSSL: what the heap is asked for, and what it costs.
 *
 *     tls [--threads N] [--handshakes N] [--messages N] [--connections N] [--bytes N] [--ecb CLASS] [--orderly] [--requests]
 *         [--trace FILE]
 *
 * Each thread first makes connections one after another (phase 1), then sends messages over established ones in turns (phase 2): a
 * message of so many bytes from the client to the server, and one back. Client and server meet in memory. The certificate is made at
 * the start.
 *
 * --ecb: each connection is an ECB of this class, and ends with it; nothing is freed one by one. --orderly: SSL_free in it as well.
 * What OpenSSL keeps for the process and for each thread is made before, outside of any ECB, by connections that do the same.
 *
 * Prints lines NAME=FIGURE. --requests counts the requests to the heap; then no time is worth reading. --trace writes the requests of
 * one connection as a script for bench/ecb/driver.c. Exit status 3: no ECBs here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* The functions of underbar/ecb.h that are called here; weak, so that the program starts without underbar as well. */
typedef uint64_t underbar_ecb;
__attribute__((weak)) underbar_ecb underbar_ecb_create(const char *class_name);
__attribute__((weak)) int underbar_ecb_enter(underbar_ecb ecb);
__attribute__((weak)) int underbar_ecb_leave(void);
__attribute__((weak)) int underbar_ecb_end(underbar_ecb ecb);

/* Connections of each thread before the first phase, and messages over each. */
enum { WARM = 4, LARGEST = 16384 };

static size_t threads = 2, handshakes = 200, messages = 20000, connections = 8, bytes = 64;
static const char *ecb_class, *trace;
static int is_orderly, is_counted;
static SSL_CTX *of_client, *of_server;
static pthread_barrier_t barrier;

struct connection {
    SSL *client, *server;
    underbar_ecb ecb;
};

static void fail(const char *why) {
    fprintf(stderr, "tls: %s\n", why);
    ERR_print_errors_fp(stderr);
    exit(2);
}

/* Requests to the heap, counted and traced. */
static uint64_t gets, resizes, frees, got_bytes;
static FILE *tracing;
static void **slots;
static size_t slot_count;

static size_t slot_of(const void *piece) {
    for (size_t slot = slot_count; slot-- > 0;)
        if (slots[slot] == piece) return slot;
    return SIZE_MAX;
}

static uint64_t answered;

static void *counted_get(size_t size, const char *file, int line) {
    (void)file, (void)line;
    void *piece = malloc(size);
    __atomic_add_fetch(&gets, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&got_bytes, size, __ATOMIC_RELAXED);
    if (tracing) {
        slots = realloc(slots, (slot_count + 1) * sizeof *slots);
        slots[slot_count] = piece;
        fprintf(tracing, "g %zu %zu\n", slot_count++, size);
    }
    return piece;
}

static void counted_free(void *piece, const char *file, int line) {
    (void)file, (void)line;
    if (!piece) return;
    __atomic_add_fetch(&frees, 1, __ATOMIC_RELAXED);
    size_t slot = tracing ? slot_of(piece) : SIZE_MAX;
    /* What was there before the connection is not in the script. */
    if (slot != SIZE_MAX) {
        fprintf(tracing, "f %zu\n", slot);
        slots[slot] = NULL;
    }
    free(piece);
}

static void *counted_resize(void *piece, size_t size, const char *file, int line) {
    if (!piece) return counted_get(size, file, line);
    if (!size) return counted_free(piece, file, line), NULL;
    __atomic_add_fetch(&resizes, 1, __ATOMIC_RELAXED);
    size_t slot = tracing ? slot_of(piece) : SIZE_MAX;
    void *now = realloc(piece, size);
    if (slot != SIZE_MAX) {
        fprintf(tracing, "r %zu %zu\n", slot, size);
        slots[slot] = now;
    }
    return now;
}

/* A certificate of its own key, for the client to trust. */
static void make_contexts(void) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    if (!key || !certificate) fail("no key");
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24 * 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"server", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    if (!X509_sign(certificate, key, EVP_sha256())) fail("no certificate");
    of_server = SSL_CTX_new(TLS_server_method());
    of_client = SSL_CTX_new(TLS_client_method());
    if (!of_server || !of_client) fail("no context");
    if (SSL_CTX_use_certificate(of_server, certificate) != 1 || SSL_CTX_use_PrivateKey(of_server, key) != 1)
        fail("the certificate was refused");
    X509_STORE_add_cert(SSL_CTX_get_cert_store(of_client), certificate);
    SSL_CTX_set_verify(of_client, SSL_VERIFY_PEER, NULL);
    /* A cache of sessions would keep them beyond their connection. */
    SSL_CTX_set_session_cache_mode(of_server, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_session_cache_mode(of_client, SSL_SESS_CACHE_OFF);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* One step of a handshake: whether it is done. */
static int step(SSL *side) {
    int result = SSL_do_handshake(side);
    if (result == 1) return 1;
    if (SSL_get_error(side, result) != SSL_ERROR_WANT_READ) fail("a handshake failed");
    return 0;
}

/* Reads nothing, but what the other side sent beside data: tickets. */
static void read_nothing(SSL *side) {
    char byte;
    if (SSL_get_error(side, SSL_read(side, &byte, 1)) != SSL_ERROR_WANT_READ) fail("data that nobody sent");
}

static void connect_both(struct connection *one) {
    one->client = SSL_new(of_client);
    one->server = SSL_new(of_server);
    BIO *to_server = BIO_new(BIO_s_mem()), *to_client = BIO_new(BIO_s_mem());
    if (!one->client || !one->server || !to_server || !to_client) fail("no connection");
    BIO_set_mem_eof_return(to_server, -1);
    BIO_set_mem_eof_return(to_client, -1);
    BIO_up_ref(to_server);
    BIO_up_ref(to_client);
    SSL_set_bio(one->client, to_client, to_server);
    SSL_set_bio(one->server, to_server, to_client);
    SSL_set_connect_state(one->client);
    SSL_set_accept_state(one->server);
    int client = 0, server = 0;
    for (int turn = 0; turn < 10 && !(client && server); turn++) {
        client = client || step(one->client);
        server = server || step(one->server);
    }
    if (!client || !server) fail("a handshake did not end");
    read_nothing(one->client);
}

static void disconnect(struct connection *one) {
    SSL_free(one->client);
    SSL_free(one->server);
}

/* The whole message, or the end of the run. */
static void pass(SSL *from, SSL *to, const char *message, char *buffer) {
    size_t done = 0, part = 0;
    if (SSL_write_ex(from, message, bytes, &done) != 1 || done != bytes) fail("a message was not written");
    for (done = 0; done < bytes; done += part)
        if (SSL_read_ex(to, buffer + done, bytes - done, &part) != 1) fail("a message was not read");
}

/* A message and its answer, which is the same; true if it is. */
static int exchange(struct connection *one, char *buffers) {
    char *message = buffers, *received = buffers + LARGEST, *answer = buffers + 2 * LARGEST;
    ++message[0];
    pass(one->client, one->server, message, received);
    pass(one->server, one->client, received, answer);
    return !memcmp(message, answer, bytes);
}

static void enter(const struct connection *one) {
    if (ecb_class && underbar_ecb_enter(one->ecb)) fail("an ECB was not entered");
}

static void leave(void) {
    if (ecb_class && underbar_ecb_leave()) fail("an ECB was not left");
}

static void begin(struct connection *one) {
    if (ecb_class && !(one->ecb = underbar_ecb_create(ecb_class))) fail("no ECB");
    enter(one);
    connect_both(one);
    leave();
}

static void finish(struct connection *one) {
    if (!ecb_class || is_orderly) {
        enter(one);
        disconnect(one);
        leave();
    }
    if (ecb_class && underbar_ecb_end(one->ecb)) fail("an ECB did not end");
}

/* What OpenSSL keeps for a thread: its random numbers, its errors with their texts, what it finds once. */
static void warm_up(char *buffers) {
    char text[512];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (int error = 0; error < 32; error++) ERR_raise_data(ERR_LIB_USER, ERR_R_INTERNAL_ERROR, "%s", text);
    ERR_clear_error();
    for (int turn = 0; turn < WARM; turn++) {
        struct connection one;
        connect_both(&one);
        for (int message = 0; message < WARM; message++) exchange(&one, buffers);
        disconnect(&one);
    }
}

static void *thread(void *nothing) {
    static __thread char buffers[3 * LARGEST];
    uint64_t right = 0;
    struct connection *established = calloc(connections, sizeof *established);
    warm_up(buffers);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (size_t turn = 0; turn < handshakes; turn++) {
        struct connection one;
        begin(&one);
        finish(&one);
    }
    pthread_barrier_wait(&barrier);
    for (size_t at = 0; at < connections; at++) {
        begin(&established[at]);
        enter(&established[at]);
        exchange(&established[at], buffers);
        leave();
    }
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    for (size_t message = 0; message < messages; message++) {
        struct connection *one = &established[message % connections];
        enter(one);
        right += (uint64_t)exchange(one, buffers);
        leave();
    }
    pthread_barrier_wait(&barrier);
    __atomic_add_fetch(&answered, right, __ATOMIC_RELAXED);
    for (size_t at = 0; at < connections; at++) finish(&established[at]);
    free(established);
    return nothing;
}

static uint64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Between the barriers around a phase: its time, or its requests. */
static void phase(const char *name, size_t count) {
    pthread_barrier_wait(&barrier);
    uint64_t begun = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t before[] = {gets, resizes, frees, got_bytes};
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%ss=%zu\n%s_ns=%llu\n%s_cpu_ns=%llu\n", name, count, name,
           (unsigned long long)(now(CLOCK_MONOTONIC) - begun), name, (unsigned long long)cpu);
    uint64_t after[] = {gets, resizes, frees, got_bytes};
    static const char *const figures[] = {"gets", "resizes", "frees", "bytes"};
    for (size_t figure = 0; is_counted && figure < 4; figure++)
        printf("%s_%s=%llu\n", name, figures[figure], (unsigned long long)(after[figure] - before[figure]));
}

static void write_trace(void) {
    static char buffers[3 * LARGEST];
    warm_up(buffers);
    struct connection one = {0};
    FILE *file = fopen(trace, "w");
    if (!file) fail("no file for the trace");
    tracing = file;
    connect_both(&one);
    if (!ecb_class || is_orderly) disconnect(&one);
    tracing = NULL;
    fprintf(file, "e\n");
    if (fclose(file)) fail("the trace was not written");
}

static size_t number(const char *flag, const char *text) {
    size_t number = text ? (size_t)strtoull(text, NULL, 10) : 0;
    if (!number) fail(flag);
    return number;
}

int main(int count, char **words) {
    for (int at = 1; at < count; at++) {
        const char *flag = words[at];
        if (!strcmp(flag, "--orderly")) is_orderly = 1;
        else if (!strcmp(flag, "--requests")) is_counted = 1;
        else if (!strcmp(flag, "--ecb")) ecb_class = words[++at];
        else if (!strcmp(flag, "--trace")) trace = words[++at];
        else if (!strcmp(flag, "--threads")) threads = number(flag, words[++at]);
        else if (!strcmp(flag, "--handshakes")) handshakes = number(flag, words[++at]);
        else if (!strcmp(flag, "--messages")) messages = number(flag, words[++at]);
        else if (!strcmp(flag, "--connections")) connections = number(flag, words[++at]);
        else if (!strcmp(flag, "--bytes")) bytes = number(flag, words[++at]);
        else fail(flag);
    }
    if (bytes > LARGEST || threads > 64) fail("at most 16,384 bytes and 64 threads");
    if (ecb_class && !trace && !underbar_ecb_create) return 3;
    if ((is_counted || trace) && !CRYPTO_set_mem_functions(counted_get, counted_resize, counted_free))
        fail("requests cannot be counted");
    make_contexts();
    if (trace) return write_trace(), 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    pthread_t ids[64];
    for (size_t one = 0; one < threads; one++)
        if (pthread_create(&ids[one], NULL, thread, NULL)) fail("no thread");
    printf("threads=%zu\nhas_ecbs=%d\n", threads, underbar_ecb_create != NULL);
    phase("handshake", threads * handshakes);
    phase("message", threads * messages);
    for (size_t one = 0; one < threads; one++) pthread_join(ids[one], NULL);
    printf("answered=%llu\n", (unsigned long long)answered);
    SSL_CTX_free(of_client);
    SSL_CTX_free(of_server);
    return 0;
}
