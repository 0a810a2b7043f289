/* rate(utilities, handles, count, own, topics, begins, sizes, rates, known): how alike the interests of peers are.

   The utility of a candidate is the rate of the topics that both peers want in relation to that of the topics
   that either wants (Vitis, equation 1). Where all topics of both have one rate, that is a relation of numbers
   of topics. The first `count` of `handles` are the candidates; the topics of the profile of a handle are the
   `sizes[handle]` numbers of `topics` from `begins[handle]` on, and `rates[handle]` is their rate (events/s).

   `known` remembers candidates for the next call: most of those that a peer selects from are the same again, and what
   is remembered lies side by side, unlike their topics. It is a vector with a power of two of numbers, all 0 at first
   and whenever `own` or the profile of any handle has become another one.

   Writes the utilities. Returns whether that are all: one of -1 is left to be told by the rates of topics,
   since the two profiles differ in theirs. NaN is no rate, so it differs from every other. */

#include "columns.h"

#define FAR 8     /* The numbers of the candidate that is this many further on are fetched, */
#define NEAR 4    /* and the topics of the one that is this many further on. */
#define LINE 16   /* The topics in a line of a cache. */

typedef struct {
    TopicLists lists;
    Floats rates;
} Profiles;

typedef struct {
    unsigned char *marks;   /* 1 for each topic that is wanted, up to `most`; all 0 between calls. */
    int32_t most;
    int64_t size;
    double rate;
} Interests;

/* What is remembered of a candidate is one more than its handle, the topics that both want, and its topics. */
typedef struct {
    uint64_t *slots;
    size_t mask;
} Memory;

#define HANDLE_SHIFT 32
#define BOTH_SHIFT 16
#define LARGEST 0xFFFF

static Room marks_room, left_room;

static int rated_topics_of(const Profiles *profiles, int64_t handle, const int32_t **topics, int64_t *size) {
    if (topics_of(&profiles->lists, handle, topics, size) < 0) return -1;
    if (handle < profiles->rates.count) return 0;
    PyErr_Format(PyExc_IndexError, "handle %lld has no rate", (long long)handle);
    return -1;
}

/* Marks the topics of the peer that rates. Returns 0, or -1 with IndexError, ValueError or MemoryError. */
static int mark(const Profiles *profiles, int64_t own, Interests *interests) {
    const int32_t *topics;
    if (rated_topics_of(profiles, own, &topics, &interests->size) < 0) return -1;
    interests->rate = profiles->rates.numbers[own];
    interests->most = -1;
    for (int64_t at = 0; at < interests->size; at++) {
        if (topics[at] < 0) {
            PyErr_Format(PyExc_ValueError, "%d is no topic", (int)topics[at]);
            return -1;
        }
        if (topics[at] > interests->most) interests->most = topics[at];
    }
    interests->marks = make_room(&marks_room, (size_t)interests->most + 1);
    if (interests->marks == NULL) return -1;
    for (int64_t at = 0; at < interests->size; at++) interests->marks[topics[at]] = 1;
    return 0;
}

/* Takes the marks back. */
static void unmark(const Profiles *profiles, int64_t own, const Interests *interests) {
    const int32_t *topics = profiles->lists.topics.numbers + profiles->lists.begins.numbers[own];
    for (int64_t at = 0; at < interests->size; at++) interests->marks[topics[at]] = 0;
}

static int64_t shared(const Interests *interests, const int32_t *topics, int64_t size) {
    int64_t found = 0;
    const uint32_t all = (uint32_t)(interests->most + 1);
    for (int64_t at = 0; at < size; at++)
        if ((uint32_t)topics[at] < all) found += interests->marks[topics[at]];
    return found;
}

/* Fetches into the caches what will soon be read of a profile: candidates lie far apart. */
static void fetch(
    const Profiles *profiles, const Numbers *handles, const Py_ssize_t *left, Py_ssize_t at, Py_ssize_t count
) {
    const Numbers *begins = &profiles->lists.begins;
    if (at + FAR < count) {
        int64_t handle = handles->numbers[left[at + FAR]];
        if (handle >= 0 && handle < begins->count) {
            __builtin_prefetch(begins->numbers + handle);
            __builtin_prefetch(profiles->lists.sizes.numbers + handle);
            __builtin_prefetch(profiles->rates.numbers + handle);
        }
    }
    if (at + NEAR < count) {
        int64_t handle = handles->numbers[left[at + NEAR]];
        if (handle >= 0 && handle < begins->count) {
            const int32_t *topics = profiles->lists.topics.numbers + begins->numbers[handle];
            __builtin_prefetch(topics);
            __builtin_prefetch(topics + LINE);
            __builtin_prefetch(topics + 2 * LINE);
            __builtin_prefetch(topics + 3 * LINE);
        }
    }
}

/* Rates the candidates that are remembered, and lists the places of the others in `left`. Returns how many those are. */
static Py_ssize_t recall(
    const Memory *memory, const Interests *interests, const Numbers *handles, Py_ssize_t count, double *utilities,
    Py_ssize_t *left
) {
    Py_ssize_t others = 0;
    for (Py_ssize_t place = 0; place < count; place++) {
        uint64_t handle = (uint64_t)handles->numbers[place], known = memory->slots[handle & memory->mask];
        if (known != 0 && known >> HANDLE_SHIFT == handle + 1) {
            int64_t both = known >> BOTH_SHIFT & LARGEST, size = known & LARGEST;
            utilities[place] = both == 0 ? 0 : (double)both / (double)(interests->size + size - both);
        } else {
            left[others++] = place;
        }
    }
    return others;
}

static void remember(const Memory *memory, int64_t handle, int64_t both, int64_t size) {
    if (handle < UINT32_MAX && size <= LARGEST)
        memory->slots[(size_t)handle & memory->mask] =
            ((uint64_t)handle + 1) << HANDLE_SHIFT | (uint64_t)both << BOTH_SHIFT | (uint64_t)size;
}

/* Rates the candidates. Returns whether all are rated, -1 with IndexError or MemoryError. */
static int rate_all(
    const Profiles *profiles, const Interests *interests, const Numbers *handles, Py_ssize_t count, double *utilities,
    const Memory *memory
) {
    int whole = 1;
    Py_ssize_t *left = make_room(&left_room, (size_t)count * sizeof *left);
    if (left == NULL) return -1;
    Py_ssize_t others = recall(memory, interests, handles, count, utilities, left);
    for (Py_ssize_t at = 0; at < others; at++) {
        const int32_t *topics;
        Py_ssize_t place = left[at];
        int64_t handle = handles->numbers[place], size;
        fetch(profiles, handles, left, at, others);
        if (rated_topics_of(profiles, handle, &topics, &size) < 0) return -1;
        int64_t both = shared(interests, topics, size);
        if (both != 0 && profiles->rates.numbers[handle] != interests->rate) {
            utilities[place] = -1;
            whole = 0;
        } else {
            utilities[place] = both == 0 ? 0 : (double)both / (double)(interests->size + size - both);
            remember(memory, handle, both, size);
        }
    }
    return whole;
}

/* Opens what is remembered. Returns 0, or -1 with TypeError or ValueError. */
static int open_memory(PyObject *given, Memory *memory) {
    Py_ssize_t size;
    memory->slots = (uint64_t *)numbers_of(given, &size);
    if (memory->slots == NULL) return -1;
    memory->mask = (size_t)size - 1;
    if (size > 0 && (memory->mask & (size_t)size) == 0) return 0;
    PyErr_Format(PyExc_ValueError, "%zd is no power of two", size);
    return -1;
}

static PyObject *rate_known(
    const Profiles *profiles, int64_t own, const Numbers *handles, Py_ssize_t count, const Floats *utilities,
    const Memory *memory
) {
    if (count > handles->count || count > utilities->count)
        return PyErr_Format(PyExc_ValueError, "there are no %zd candidates", count);
    Interests interests = {.marks = NULL};
    int whole = mark(profiles, own, &interests);
    if (whole == 0) {
        whole = rate_all(profiles, &interests, handles, count, utilities->view.buf, memory);
        unmark(profiles, own, &interests);
    }
    return whole < 0 ? NULL : PyBool_FromLong(whole);
}

PyObject *rate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("rate", count, 9) < 0) return NULL;
    Py_ssize_t candidates = read_count(arguments[2]);
    long long own = PyLong_AsLongLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    Floats utilities;
    Numbers handles;
    Profiles profiles;
    Memory memory;
    PyObject *whole = NULL;
    if (open_memory(arguments[8], &memory) < 0) return NULL;
    if (open_to_write(arguments[0], &utilities) < 0) return NULL;
    if (open_numbers(arguments[1], &handles) < 0) goto utilities;
    if (open_topics(arguments[4], &profiles.lists.topics) < 0) goto handles;
    if (open_numbers(arguments[5], &profiles.lists.begins) < 0) goto topics;
    if (open_numbers(arguments[6], &profiles.lists.sizes) < 0) goto begins;
    if (open_floats(arguments[7], &profiles.rates) < 0) goto sizes;
    whole = rate_known(&profiles, own, &handles, candidates, &utilities, &memory);
    PyBuffer_Release(&profiles.rates.view);
sizes:
    PyBuffer_Release(&profiles.lists.sizes.view);
begins:
    PyBuffer_Release(&profiles.lists.begins.view);
topics:
    PyBuffer_Release(&profiles.lists.topics.view);
handles:
    PyBuffer_Release(&handles.view);
utilities:
    PyBuffer_Release(&utilities.view);
    return whole;
}
