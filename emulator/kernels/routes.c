/* next_hops(topics, keys, handles, begin, end, places, peers, here): the next hop of each topic on the ring.

   A key goes to the neighbour that is closest to it (Vitis, section III.B: greedy routing to hash(t)); of two that
   are equally close it goes to the first one clockwise. So the ring is cut half-way between neighbours into regions.
   The neighbours are `handles[begin:end]`, whose places on the ring and numbers are in `places` and `peers`, and
   `here` is the place of the peer that routes. `topics` is a vector of topics, and `keys` has the place of each topic's
   key. Places are in units of 2^-62 of the ring.

   Returns the topics of each next hop, by peer, both in the order of `topics`, without the topics to whose keys the
   peer itself is closest. Returns None if what is cut off of identifiers decides: two places are
   equal, or a key lies within two units of a border. */

#include "columns.h"

#define RING ((uint64_t)1 << 62)
#define UNSURE 2          /* A border is less than two units from where it is computed, and so is a key. */
#define BUCKETS 64
#define BUCKET_BITS 56
#define HERE (-1)
#define NO_SLOT (-1)

typedef struct {
    uint64_t place;
    int64_t peer;
} Neighbour;

typedef struct {
    Py_ssize_t count;
    uint64_t *borders;        /* Ascending; region i begins at border i, and the last one reaches over the end. */
    int64_t *hops;            /* By region, the peer that it belongs to. */
    Py_ssize_t first[BUCKETS];  /* By the highest bits of a place, the number of borders below all such places. */
    const Numbers *keys;
    Py_ssize_t *slots;        /* By region, where its next hop is among `peers`. */
    int64_t *peers;           /* The next hops so far. */
    Py_ssize_t *sizes;        /* The number of topics of each of them. */
    int32_t **written;        /* Where the next topic of each of them is written to. */
    Py_ssize_t *chosen;       /* By the place of a topic, where its next hop is among `peers`. */
    Py_ssize_t found;
} Routing;

static Room kept_room;

/* Cuts the ring between the neighbours, which are sorted by their places. */
static void cut(Routing *routing, const Neighbour *ring) {
    Py_ssize_t count = routing->count, shift;
    uint64_t before = ring[count - 1].place;
    uint64_t first = (before + ((ring[0].place - before) & (RING - 1)) / 2 + 1) & (RING - 1);
    /* The border before the first neighbour is the last one if it lies before the end of the ring. */
    shift = count > 1 && first > ring[0].place ? 1 : 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t region = (at + count - shift) % count;
        uint64_t gap = (ring[at].place - before) & (RING - 1);
        routing->borders[region] = (before + gap / 2 + 1) & (RING - 1);
        routing->hops[region] = ring[at].peer;
        before = ring[at].place;
    }
    Py_ssize_t region = 0;
    for (uint64_t bucket = 0; bucket < BUCKETS; bucket++) {
        while (region < count && routing->borders[region] < bucket << BUCKET_BITS) region++;
        routing->first[bucket] = region;
    }
}

static int is_near(uint64_t one, uint64_t other) {
    return ((one - other + UNSURE) & (RING - 1)) <= 2 * UNSURE;
}

/* Returns the region of a key; -1 if the key is near a border. */
static Py_ssize_t region_of(const Routing *routing, uint64_t key) {
    Py_ssize_t next = routing->first[key >> BUCKET_BITS], count = routing->count;
    while (next < count && routing->borders[next] <= key) next++;
    Py_ssize_t region = next == 0 ? count - 1 : next - 1;
    if (is_near(key, routing->borders[region]) || is_near(key, routing->borders[next % count])) return -1;
    return region;
}

static Py_ssize_t slot_of(Routing *routing, Py_ssize_t region) {
    Py_ssize_t slot = routing->slots[region];
    if (slot == NO_SLOT) {
        slot = routing->slots[region] = routing->found++;
        routing->peers[slot] = routing->hops[region];
        routing->sizes[slot] = 0;
    }
    return slot;
}

/* Routes the topic at a place. Returns 1, 0 if its key is near a border, or -1 with IndexError. */
static int route(Routing *routing, const Topics *topics, Py_ssize_t place) {
    int32_t topic = topics->numbers[place];
    if (topic < 0 || topic >= routing->keys->count) {
        PyErr_Format(PyExc_IndexError, "topic %d has no key", (int)topic);
        return -1;
    }
    Py_ssize_t region = region_of(routing, (uint64_t)routing->keys->numbers[topic] & (RING - 1));
    if (region < 0) return 0;
    Py_ssize_t slot = routing->hops[region] == HERE ? NO_SLOT : slot_of(routing, region);
    routing->chosen[place] = slot;
    if (slot != NO_SLOT) routing->sizes[slot]++;
    return 1;
}

static PyObject *by_hop(const Routing *routing, const Topics *topics) {
    PyObject *found = PyDict_New();
    for (Py_ssize_t slot = 0; found != NULL && slot < routing->found; slot++) {
        PyObject *peer = PyLong_FromLongLong(routing->peers[slot]);
        PyObject *vector = new_topics(routing->sizes[slot], &routing->written[slot]);
        if (peer == NULL || vector == NULL || PyDict_SetItem(found, peer, vector) < 0) Py_CLEAR(found);
        Py_XDECREF(peer);
        Py_XDECREF(vector);
    }
    for (Py_ssize_t place = 0; found != NULL && place < topics->count; place++) {
        Py_ssize_t slot = routing->chosen[place];
        if (slot != NO_SLOT) *routing->written[slot]++ = topics->numbers[place];
    }
    return found;
}

static PyObject *route_all(Routing *routing, const Topics *topics) {
    for (Py_ssize_t region = 0; region < routing->count; region++) routing->slots[region] = NO_SLOT;
    for (Py_ssize_t place = 0; place < topics->count; place++) {
        int routed = route(routing, topics, place);
        if (routed < 0) return NULL;
        if (routed == 0) Py_RETURN_NONE;
    }
    return by_hop(routing, topics);
}

/* Lists the peer that routes and its neighbours by their places. Returns 1, 0 if two places are equal, or -1 with
   IndexError. */
static int list_ring(
    Neighbour *ring, const Numbers *handles, Py_ssize_t begin, Py_ssize_t count, const Numbers *places,
    const Numbers *peers, uint64_t here
) {
    ring[0] = (Neighbour){.place = here, .peer = HERE};
    for (Py_ssize_t known = 1; known < count; known++) {
        int64_t handle = handles->numbers[begin + known - 1];
        if (handle < 0 || handle >= places->count || handle >= peers->count) {
            PyErr_Format(PyExc_IndexError, "handle %lld has no place", (long long)handle);
            return -1;
        }
        Neighbour next = {(uint64_t)places->numbers[handle] & (RING - 1), peers->numbers[handle]};
        Py_ssize_t at = known;
        while (at > 0 && ring[at - 1].place > next.place) {
            ring[at] = ring[at - 1];
            at--;
        }
        if (at > 0 && ring[at - 1].place == next.place) return 0;
        ring[at] = next;
    }
    return 1;
}

static PyObject *with_room(
    Routing *routing, const Topics *topics, const Numbers *handles, Py_ssize_t begin, const Numbers *places,
    const Numbers *peers, uint64_t here
) {
    size_t count = (size_t)routing->count;
    size_t needed = count * (sizeof(Neighbour) + 6 * sizeof(uint64_t)) + (size_t)topics->count * sizeof(Py_ssize_t);
    Neighbour *ring = make_room(&kept_room, needed);
    if (ring == NULL) return NULL;
    routing->borders = (uint64_t *)(ring + count);
    routing->hops = (int64_t *)(routing->borders + count);
    routing->slots = (Py_ssize_t *)(routing->hops + count);
    routing->peers = (int64_t *)(routing->slots + count);
    routing->sizes = (Py_ssize_t *)(routing->peers + count);
    routing->written = (int32_t **)(routing->sizes + count);
    routing->chosen = (Py_ssize_t *)(routing->written + count);
    int listed = list_ring(ring, handles, begin, routing->count, places, peers, here);
    if (listed < 0) return NULL;
    if (listed == 0) Py_RETURN_NONE;
    cut(routing, ring);
    return route_all(routing, topics);
}

PyObject *next_hops(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("next_hops", count, 8) < 0) return NULL;
    Py_ssize_t begin = read_count(arguments[3]);
    Py_ssize_t end = PyErr_Occurred() ? 0 : read_count(arguments[4]);
    long long here = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[7]);
    if (PyErr_Occurred()) return NULL;
    Topics topics;
    Numbers keys, handles, places, peers;
    PyObject *found = NULL;
    if (open_topics(arguments[0], &topics) < 0) return NULL;
    if (open_numbers(arguments[1], &keys) < 0) goto topics;
    if (open_numbers(arguments[2], &handles) < 0) goto keys;
    if (open_numbers(arguments[5], &places) < 0) goto handles;
    if (open_numbers(arguments[6], &peers) < 0) goto places;
    if (begin > end || end > handles.count) {
        PyErr_Format(PyExc_ValueError, "there are no neighbours from %zd to %zd", begin, end);
    } else if (begin == end) {
        found = PyDict_New();
    } else {
        Routing routing = {.keys = &keys, .count = end - begin + 1};
        found = with_room(&routing, &topics, &handles, begin, &places, &peers, (uint64_t)here & (RING - 1));
    }
    PyBuffer_Release(&peers.view);
places:
    PyBuffer_Release(&places.view);
handles:
    PyBuffer_Release(&handles.view);
keys:
    PyBuffer_Release(&keys.view);
topics:
    PyBuffer_Release(&topics.view);
    return found;
}
