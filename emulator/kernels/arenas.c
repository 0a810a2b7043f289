/* use_huge_pages(): has Python's objects lie in huge pages from now on.

   Python divides arenas of a megabyte among its small objects. They come from larger regions then, for which the
   kernel is asked to use pages of two megabytes: objects of a large trial lie far apart, and a processor knows only
   some thousand pages without looking them up. Where the system has no such pages, arenas are as usual. */

#include "columns.h"

#include <sys/mman.h>

#define PAGE ((uintptr_t)2 << 20)
#define REGION ((size_t)64 << 20)

static char *next_arena;   /* Where the rest of the last region begins, */
static size_t rest;        /* and how many bytes this has. */

/* Maps another region, which begins with a huge page. Returns 0, or -1 if there is no memory. */
static int map_region(void) {
    char *mapped = mmap(NULL, REGION + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return -1;
    next_arena = (char *)(((uintptr_t)mapped + PAGE - 1) & ~(PAGE - 1));
    rest = REGION;
#ifdef MADV_HUGEPAGE
    (void)madvise(next_arena, REGION, MADV_HUGEPAGE);
#endif
    return 0;
}

static void *take_arena(void *context, size_t size) {
    (void)context;
    if (size > rest && (size > REGION || map_region() < 0)) return NULL;
    void *arena = next_arena;
    next_arena += size;
    rest -= size;
    return arena;
}

/* Gives back an arena, which may be one that Python mapped by itself before. */
static void free_arena(void *context, void *arena, size_t size) {
    (void)context;
    (void)munmap(arena, size);
}

PyObject *use_huge_pages(PyObject *module, PyObject *nothing) {
    (void)module;
    (void)nothing;
    PyObjectArenaAllocator allocator = {.ctx = NULL, .alloc = take_arena, .free = free_arena};
    PyObject_SetArenaAllocator(&allocator);
    Py_RETURN_NONE;
}
