/* A module of nginx that makes pages by libxml2, and forgets to free each document: "page off;" or "page on;" in a location. With
 * "on" each request has an ECB, and what was forgotten ends with it.
 *
 * GET /...?rows=N: a page of N rows, up to 999. Not here: how it is built and loaded (zoo/src/nginx.rs). */
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <underbar/ecb.h>

ngx_module_t ngx_http_page_module;

typedef struct {
    ngx_flag_t has_ecb;
} page_conf;

/* The page as text. The document is never freed, and neither is the text: that is the leak. */
static xmlChar *render(ngx_int_t rows, int *length) {
    xmlDoc *document = xmlNewDoc(BAD_CAST "1.0");
    xmlNode *table = xmlNewNode(NULL, BAD_CAST "table");
    xmlDocSetRootElement(document, table);
    for (ngx_int_t row = 0; row < rows; row++) {
        char value[32];
        snprintf(value, sizeof value, "<%ld>", (long)row * row);
        xmlNode *line = xmlNewChild(table, NULL, BAD_CAST "row", NULL);
        xmlNewProp(line, BAD_CAST "number", BAD_CAST value);
        xmlNewTextChild(line, NULL, BAD_CAST "square", BAD_CAST value);
    }
    xmlChar *text = NULL;
    xmlDocDumpFormatMemory(document, &text, length, 1);
    return text;
}

/* What nginx does with a page that is in its pool. */
static ngx_int_t send_page(ngx_http_request_t *request, u_char *page, int length) {
    if (!page) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    request->headers_out.status = NGX_HTTP_OK;
    request->headers_out.content_length_n = length;
    ngx_str_set(&request->headers_out.content_type, "application/xml");
    ngx_int_t sent = ngx_http_send_header(request);
    if (sent == NGX_ERROR || sent > NGX_OK || request->header_only) return sent;
    ngx_buf_t *buffer = ngx_calloc_buf(request->pool);
    if (!buffer) return NGX_ERROR;
    buffer->pos = buffer->start = page;
    buffer->last = buffer->end = page + length;
    buffer->memory = buffer->last_buf = 1;
    ngx_chain_t out = {.buf = buffer, .next = NULL};
    return ngx_http_output_filter(request, &out);
}

static ngx_int_t handler(ngx_http_request_t *request) {
    page_conf *conf = ngx_http_get_module_loc_conf(request, ngx_http_page_module);
    ngx_int_t rows = 1, discarded = ngx_http_discard_request_body(request);
    if (discarded != NGX_OK) return discarded;
    ngx_str_t value;
    if (ngx_http_arg(request, (u_char *)"rows", 4, &value) == NGX_OK) rows = ngx_atoi(value.data, value.len);
    if (rows == NGX_ERROR || rows > 999) return NGX_HTTP_BAD_REQUEST;

    underbar_ecb ecb = conf->has_ecb ? underbar_ecb_begin("PAGE") : 0;
    int length = 0;
    xmlChar *text = render(rows, &length); /* malloc of libxml2 is served from the ECB */
    u_char *page = NULL;
    if (text) UNDERBAR_OUTSIDE(page = ngx_pnalloc(request->pool, length)); /* the pool outlives the ECB */
    if (page) ngx_memcpy(page, text, length);
    underbar_ecb_finish(ecb); /* the document and the text are free */

    return send_page(request, page, length);
}

static char *set_page(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    core->handler = handler;
    return ngx_conf_set_flag_slot(cf, command, conf);
}

static void *create_conf(ngx_conf_t *cf) {
    page_conf *conf = ngx_pcalloc(cf->pool, sizeof *conf);
    if (conf) conf->has_ecb = NGX_CONF_UNSET;
    return conf;
}

/* What libxml2 makes once is made before the first ECB. */
static ngx_int_t begin(ngx_cycle_t *cycle) {
    (void)cycle;
    xmlInitParser();
    return NGX_OK;
}

static ngx_command_t commands[] = {
    {ngx_string("page"), NGX_HTTP_LOC_CONF | NGX_CONF_FLAG, set_page, NGX_HTTP_LOC_CONF_OFFSET, offsetof(page_conf, has_ecb), NULL},
    ngx_null_command,
};

static ngx_http_module_t context = {NULL, NULL, NULL, NULL, NULL, NULL, create_conf, NULL};

ngx_module_t ngx_http_page_module = {
    NGX_MODULE_V1, &context, commands, NGX_HTTP_MODULE, NULL, NULL, begin, NULL, NULL, NULL, NULL, NGX_MODULE_V1_PADDING,
};
