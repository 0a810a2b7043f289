/* unite(sets, rows, begin, end): the topics that are in any of some sets.

   `sets` is a vector of vectors of topics, and those at the places `rows[begin:end]` are united: what a peer relays is
   all that it is asked for over its links (Vitis, section III.B). Returns a vector of the topics, ascending. */

#include "columns.h"
#include "vecs/librt_vecs.h"

#define WORD 64

typedef struct {
    const VecNestedBufItem *sets;
    const int64_t *rows;
    Py_ssize_t known, count;
    int32_t least, most;   /* The first and the last of all topics. */
} Union;

static Room words_room;   /* A bit for each topic, all 0 between calls. */

/* Finds the first and the last topic. Returns 0, or -1 with IndexError or ValueError. */
static int measure(Union *sets) {
    sets->least = INT32_MAX;
    sets->most = -1;
    for (Py_ssize_t at = 0; at < sets->count; at++) {
        int64_t row = sets->rows[at];
        if (row < 0 || row >= sets->known) {
            PyErr_Format(PyExc_IndexError, "there is no set %lld", (long long)row);
            return -1;
        }
        const int32_t *topics = sets->sets[row].items;
        for (Py_ssize_t place = 0; place < sets->sets[row].len; place++) {
            if (topics[place] < 0) {
                PyErr_Format(PyExc_ValueError, "%d is no topic", (int)topics[place]);
                return -1;
            }
            if (topics[place] < sets->least) sets->least = topics[place];
            if (topics[place] > sets->most) sets->most = topics[place];
        }
    }
    return 0;
}

/* Marks the topics. Returns how many there are. */
static Py_ssize_t mark(const Union *sets, uint64_t *words) {
    Py_ssize_t marked = 0;
    for (Py_ssize_t at = 0; at < sets->count; at++) {
        const VecNestedBufItem *set = &sets->sets[sets->rows[at]];
        const int32_t *topics = set->items;
        for (Py_ssize_t place = 0; place < set->len; place++) {
            uint64_t *word = &words[topics[place] / WORD], bit = (uint64_t)1 << topics[place] % WORD;
            marked += (*word & bit) == 0;
            *word |= bit;
        }
    }
    return marked;
}

static PyObject *unite_all(Union *sets) {
    int32_t *topics;
    if (measure(sets) < 0) return NULL;
    if (sets->most < 0) return new_topics(0, &topics);
    Py_ssize_t last = sets->most / WORD;
    uint64_t *words = make_room(&words_room, ((size_t)last + 1) * sizeof *words);
    if (words == NULL) return NULL;
    PyObject *found = new_topics(mark(sets, words), &topics);
    for (Py_ssize_t word = sets->least / WORD; word <= last; word++) {
        uint64_t left = words[word];
        words[word] = 0;
        for (; found != NULL && left != 0; left &= left - 1) *topics++ = (int32_t)(WORD * word + __builtin_ctzll(left));
    }
    return found;
}

PyObject *unite(PyObject *module, PyObject *const *arguments, Py_ssize_t given) {
    (void)module;
    if (check_count("unite", given, 4) < 0) return NULL;
    Py_ssize_t begin = read_count(arguments[2]), end = PyErr_Occurred() ? 0 : read_count(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    Union sets = {.known = sets_of(arguments[0], (const void **)&sets.sets)};
    if (sets.known < 0) return NULL;
    Numbers rows;
    PyObject *found = NULL;
    if (open_numbers(arguments[1], &rows) < 0) return NULL;
    if (begin > end || end > rows.count) {
        PyErr_Format(PyExc_ValueError, "there are no rows from %zd to %zd", begin, end);
    } else {
        sets.rows = rows.numbers + begin;
        sets.count = end - begin;
        found = unite_all(&sets);
    }
    PyBuffer_Release(&rows.view);
    return found;
}
