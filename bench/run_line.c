#include "run_line.h"

#include <dlfcn.h>
#include <string.h>

// The library that MPI_Barrier comes from names Fanlight when that is preloaded.
static bool preloaded(void)
{
    Dl_info info;
    void *function = dlsym(RTLD_DEFAULT, "MPI_Barrier");
    if (!function || !dladdr(function, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    return strstr(slash ? slash : info.dli_fname, "fanlight") != NULL &&
           strstr(slash ? slash : info.dli_fname, "fanlight-bench") == NULL;
}

static void write_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text && *text != '\n'; ++text) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
    fputc('"', out);
}

void write_run_line(FILE *out, const Shared *s, bool bound, int figures)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    PMPI_Get_library_version(library, &length);
    fprintf(out, "{\"type\":\"run\",\"library\":");
    write_text(out, library);
    fprintf(out,
            ",\"ranks\":%d,\"nodes\":%d,\"cores\":%d,\"oversubscribed\":%s,\"bound\":%s,"
            "\"preloaded\":%s,\"figures\":%d,\"unit\":\"us\"}\n",
            s->ranks, s->nodes, s->cores, s->oversubscribed ? "true" : "false",
            bound ? "true" : "false", preloaded() ? "true" : "false", figures);
    fflush(out);
}
