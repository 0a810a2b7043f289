/* next_hops(topics, keys, starts, hops): the next hop of each topic on a ring that is cut into regions.

   A key goes to the neighbour in whose region it lies (Vitis, section III.B: greedy routing to hash(t)). Region
   i begins at `starts[i]`, in ascending order, and belongs to the peer `hops[i]`, -1 for the peer that routes;
   the last one reaches over the end of the ring. `topics` is a set of topics as the bits of little-endian
   bytes, and `keys` has the place of each topic's key.

   Returns the topics of each next hop as bits of an int, by peer, in the order of the least topics. Returns
   None if a key and a border of regions are equal, since what was cut off of both then decides. */

#include "columns.h"

#define NO_SLOT (-1)

typedef struct {
    const Numbers *keys, *starts, *hops;
    Py_ssize_t *slots;        /* By region, where its next hop is among `peers`. */
    int64_t *peers;           /* The next hops so far. */
    unsigned char *topics;    /* The bits of each of them, `size` bytes each. */
    Py_ssize_t found, size;
} Routing;

/* Returns the region of a key; -1 if the key is a border. */
static Py_ssize_t region_of(const Numbers *starts, int64_t key) {
    Py_ssize_t low = 0, high = starts->count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (starts->numbers[middle] == key) return -1;
        if (starts->numbers[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low == 0 ? starts->count - 1 : low - 1;
}

static Py_ssize_t slot_of(Routing *routing, Py_ssize_t region) {
    Py_ssize_t slot = routing->slots[region];
    if (slot != NO_SLOT) return slot;
    int64_t peer = routing->hops->numbers[region];
    for (slot = 0; slot < routing->found && routing->peers[slot] != peer; slot++) {}
    if (slot == routing->found) routing->peers[routing->found++] = peer;
    routing->slots[region] = slot;
    return slot;
}

/* Routes one topic. Returns 1, 0 if its key is a border, or -1 with IndexError. */
static int route(Routing *routing, Py_ssize_t topic) {
    if (topic >= routing->keys->count) {
        PyErr_Format(PyExc_IndexError, "topic %zd has no key", topic);
        return -1;
    }
    Py_ssize_t region = region_of(routing->starts, routing->keys->numbers[topic]);
    if (region < 0) return 0;
    if (routing->hops->numbers[region] >= 0) {
        Py_ssize_t slot = slot_of(routing, region);
        routing->topics[slot * routing->size + topic / 8] |= (unsigned char)(1 << (topic & 7));
    }
    return 1;
}

static PyObject *by_hop(const Routing *routing) {
    PyObject *found = PyDict_New();
    for (Py_ssize_t slot = 0; found != NULL && slot < routing->found; slot++) {
        PyObject *peer = PyLong_FromLongLong(routing->peers[slot]);
        PyObject *topics = _PyLong_FromByteArray(routing->topics + slot * routing->size, (size_t)routing->size, 1, 0);
        if (peer == NULL || topics == NULL || PyDict_SetItem(found, peer, topics) < 0) Py_CLEAR(found);
        Py_XDECREF(peer);
        Py_XDECREF(topics);
    }
    return found;
}

static PyObject *route_all(Routing *routing, const unsigned char *topics) {
    for (Py_ssize_t region = 0; region < routing->starts->count; region++) routing->slots[region] = NO_SLOT;
    for (Py_ssize_t place = 0; place < routing->size; place++) {
        for (unsigned left = topics[place]; left != 0; left &= left - 1) {
            int routed = route(routing, 8 * place + __builtin_ctz(left));
            if (routed < 0) return NULL;
            if (routed == 0) Py_RETURN_NONE;
        }
    }
    return by_hop(routing);
}

static PyObject *with_room(Routing *routing, const unsigned char *topics) {
    size_t regions = (size_t)routing->starts->count;
    if (routing->hops->count != routing->starts->count || regions == 0) {
        PyErr_SetString(PyExc_ValueError, "regions and next hops do not fit together");
        return NULL;
    }
    routing->slots = PyMem_Calloc(regions, sizeof(Py_ssize_t));
    routing->peers = PyMem_Calloc(regions, sizeof(int64_t));
    routing->topics = PyMem_Calloc(regions, (size_t)routing->size);
    PyObject *found = routing->slots == NULL || routing->peers == NULL || routing->topics == NULL
                          ? PyErr_NoMemory()
                          : route_all(routing, topics);
    PyMem_Free(routing->slots);
    PyMem_Free(routing->peers);
    PyMem_Free(routing->topics);
    return found;
}

PyObject *next_hops(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("next_hops", count, 4) < 0) return NULL;
    if (!PyBytes_Check(arguments[0])) {
        PyErr_SetString(PyExc_TypeError, "topics are bits of bytes");
        return NULL;
    }
    Numbers keys, starts, hops;
    PyObject *found = NULL;
    if (open_numbers(arguments[1], &keys) < 0) return NULL;
    if (open_numbers(arguments[2], &starts) == 0) {
        if (open_numbers(arguments[3], &hops) == 0) {
            Routing routing = {.keys = &keys, .starts = &starts, .hops = &hops};
            routing.size = PyBytes_GET_SIZE(arguments[0]);
            found = with_room(&routing, (const unsigned char *)PyBytes_AS_STRING(arguments[0]));
            PyBuffer_Release(&hops.view);
        }
        PyBuffer_Release(&starts.view);
    }
    PyBuffer_Release(&keys.view);
    return found;
}
