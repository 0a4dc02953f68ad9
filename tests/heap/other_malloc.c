// Another malloc, as a preload has one: each block has a mark before it, and a block without one ends the program.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void __libc_free(void *);

static const char mark[16] = "other malloc";
int others_blocks;

void *malloc(size_t bytes) {
    char *const block = __libc_malloc(bytes + 32);
    if (!block) return NULL;
    memcpy(block + 16, mark, 16);
    memcpy(block, &bytes, sizeof bytes);
    ++others_blocks;
    return block + 32;
}

void free(void *block) {
    if (!block) return;
    if (memcmp((char *)block - 16, mark, 16) != 0) {
        static const char text[] = "a block of somebody else\n";
        if (write(2, text, sizeof text - 1) < 0) abort();
        abort();
    }
    __libc_free((char *)block - 32);
}

void *calloc(size_t count, size_t each) {
    void *const block = malloc(count * each);
    return block ? memset(block, 0, count * each) : NULL;
}

void *realloc(void *block, size_t bytes) {
    void *const other = malloc(bytes);
    size_t had = 0;
    if (block) memcpy(&had, (char *)block - 32, sizeof had);
    if (other && block) memcpy(other, block, had < bytes ? had : bytes), free(block);
    return other;
}
