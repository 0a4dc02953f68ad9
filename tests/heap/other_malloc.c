// Another malloc, as a preload has one: each block has a mark before it, and a block without one ends the program.
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void __libc_free(void *);

struct head {
    void *from;
    size_t bytes;
    char mark[16];
};
static const char mark[16] = "other malloc";
int others_blocks;

static struct head *head_of(void *block) {
    struct head *const head = (struct head *)block - 1;
    static const char text[] = "a block of somebody else\n";
    if (memcmp(head->mark, mark, sizeof mark) != 0 && write(2, text, sizeof text - 1) > 0) abort();
    return head;
}

void *memalign(size_t alignment, size_t bytes) {
    char *const from = bytes > SIZE_MAX / 2 ? NULL : __libc_malloc(bytes + alignment + sizeof(struct head));
    if (!from) return NULL;
    char *const block = (char *)(((uintptr_t)from + sizeof(struct head) + alignment - 1) / alignment * alignment);
    struct head *const head = (struct head *)block - 1;
    head->from = from;
    head->bytes = bytes;
    memcpy(head->mark, mark, sizeof mark);
    ++others_blocks;
    return block;
}

void free(void *block) {
    if (block) __libc_free(head_of(block)->from);
}

size_t malloc_usable_size(void *block) { return block ? head_of(block)->bytes : 0; }
void *malloc(size_t bytes) { return memalign(16, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void *valloc(size_t bytes) { return memalign(4096, bytes); }

int posix_memalign(void **block, size_t alignment, size_t bytes) {
    void *const found = memalign(alignment, bytes);
    if (!found) return ENOMEM;
    *block = found;
    return 0;
}

void *calloc(size_t count, size_t each) {
    void *const block = malloc(count * each);
    return block ? memset(block, 0, count * each) : NULL;
}

void *realloc(void *block, size_t bytes) {
    void *const other = malloc(bytes);
    const size_t had = malloc_usable_size(block);
    if (other && block) memcpy(other, block, had < bytes ? had : bytes), free(block);
    return other;
}
