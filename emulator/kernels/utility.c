/* rate(utilities, handles, count, own, topics, begins, sizes, rates): how alike the interests of peers are.

   The utility of a candidate is the rate of the topics that both peers want in relation to that of the topics
   that either wants (Vitis, equation 1). Where all topics of both have one rate, that is a relation of numbers
   of topics. The first `count` of `handles` are the candidates; the topics of the profile of a handle are the
   `sizes[handle]` numbers of `topics` from `begins[handle]` on, and `rates[handle]` is their rate (events/s).

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
    unsigned char *marks;   /* A bit for each topic up to `most`. */
    int32_t most;
    int64_t size;
    double rate;
} Interests;

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
    interests->marks = PyMem_Calloc((size_t)(interests->most / 8 + 1), 1);
    if (interests->marks == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t at = 0; at < interests->size; at++)
        interests->marks[topics[at] / 8] |= (unsigned char)(1 << (topics[at] & 7));
    return 0;
}

static int64_t shared(const Interests *interests, const int32_t *topics, int64_t size) {
    int64_t found = 0;
    for (int64_t at = 0; at < size; at++)
        if (topics[at] >= 0 && topics[at] <= interests->most)
            found += interests->marks[topics[at] / 8] >> (topics[at] & 7) & 1;
    return found;
}

/* Fetches into the caches what will soon be read of a profile: candidates lie far apart. */
static void fetch(const Profiles *profiles, const Numbers *handles, Py_ssize_t place, Py_ssize_t count) {
    const Numbers *begins = &profiles->lists.begins;
    if (place + FAR < count) {
        int64_t handle = handles->numbers[place + FAR];
        if (handle >= 0 && handle < begins->count) {
            __builtin_prefetch(begins->numbers + handle);
            __builtin_prefetch(profiles->lists.sizes.numbers + handle);
            __builtin_prefetch(profiles->rates.numbers + handle);
        }
    }
    if (place + NEAR < count) {
        int64_t handle = handles->numbers[place + NEAR];
        if (handle >= 0 && handle < begins->count) {
            const int32_t *topics = profiles->lists.topics.numbers + begins->numbers[handle];
            __builtin_prefetch(topics);
            __builtin_prefetch(topics + LINE);
            __builtin_prefetch(topics + 2 * LINE);
        }
    }
}

/* Rates the candidates. Returns whether all are rated, -1 with IndexError. */
static int rate_all(
    const Profiles *profiles, const Interests *interests, const Numbers *handles, Py_ssize_t count, double *utilities
) {
    int whole = 1;
    for (Py_ssize_t place = 0; place < count; place++) {
        const int32_t *topics;
        int64_t handle = handles->numbers[place], size;
        fetch(profiles, handles, place, count);
        if (rated_topics_of(profiles, handle, &topics, &size) < 0) return -1;
        int64_t both = shared(interests, topics, size);
        if (both == 0) {
            utilities[place] = 0;
        } else if (profiles->rates.numbers[handle] == interests->rate) {
            utilities[place] = (double)both / (double)(interests->size + size - both);
        } else {
            utilities[place] = -1;
            whole = 0;
        }
    }
    return whole;
}

static PyObject *rate_known(
    const Profiles *profiles, int64_t own, const Numbers *handles, Py_ssize_t count, const Floats *utilities
) {
    if (count > handles->count || count > utilities->count)
        return PyErr_Format(PyExc_ValueError, "there are no %zd candidates", count);
    Interests interests = {.marks = NULL};
    int whole = mark(profiles, own, &interests);
    if (whole == 0) whole = rate_all(profiles, &interests, handles, count, utilities->view.buf);
    PyMem_Free(interests.marks);
    return whole < 0 ? NULL : PyBool_FromLong(whole);
}

PyObject *rate(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("rate", count, 8) < 0) return NULL;
    Py_ssize_t candidates = read_count(arguments[2]);
    long long own = PyLong_AsLongLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    Floats utilities;
    Numbers handles;
    Profiles profiles;
    PyObject *whole = NULL;
    if (open_to_write(arguments[0], &utilities) < 0) return NULL;
    if (open_numbers(arguments[1], &handles) < 0) goto utilities;
    if (open_topics(arguments[4], &profiles.lists.topics) < 0) goto handles;
    if (open_numbers(arguments[5], &profiles.lists.begins) < 0) goto topics;
    if (open_numbers(arguments[6], &profiles.lists.sizes) < 0) goto begins;
    if (open_floats(arguments[7], &profiles.rates) < 0) goto sizes;
    whole = rate_known(&profiles, own, &handles, candidates, &utilities);
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
