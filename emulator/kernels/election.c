/* elect(own, here, limit, profile, keys, neighbours, said, count, topics, begins, sizes, profiles, firsts,
         gateways, places, which, parents, hops, former_gateways, former_parents, former_hops): the gateways of a peer.

   Each topic of the peer `own`, which is at `here` on the ring, begins with the peer itself as its gateway. Then
   what the neighbours propose is weighed, in their order (Vitis, Algorithm 5, lines 3 to 16): a proposal does not
   count if it came from this peer or from another of its neighbours (line 7), or is `limit` hops or more away;
   of two gateways the one that is closer to the topic's key counts, and of two ways to one gateway the shorter one.

   The first `count` of `neighbours` have said the heartbeats `said`, -1 for nothing. `profiles` has the handle of
   each heartbeat's profile, whose topics are the `sizes` numbers of `topics` from `begins` on, ascending. The
   proposals for them are the numbers from `firsts[heartbeat]` on in five columns, -1 for no proposals: the gateway, its
   place on the ring, which of the gateways that the heartbeat names it is, the peer that it is reached through, and
   the hops. `profile` is the handle of the peer's own profile, and `keys` has the place of each of its topics. Places
   are in units of 2^-62 of the ring.

   Returns seven vectors, () if gateways, parents and hops are the former ones, and None if two gateways are too close
   to each other to tell them apart by their places. By topic: the gateway, the parent, the hops, the gateway's place
   on the ring, and which of the distinct gateways it is. By distinct gateway, in the order of their first topics: the
   heartbeat that names it, -1 for the peer itself, and which of the gateways there it is. */

#include "columns.h"

#define RING ((int64_t)1 << 62)
#define NOTHING (-1)
#define FAR 4     /* Where the heartbeat of the neighbour that is this many further on begins is fetched, */
#define NEAR 1    /* and what the one that is this many further on said. */
#define LINE 8    /* The numbers in a line of a cache, */
#define LINES 4   /* and the lines that are fetched of each column. */

typedef struct {
    Numbers profiles, firsts, gateways, places, which, parents, hops;
} Proposals;

typedef struct {
    int64_t own, limit;
    Numbers keys, neighbours, said;
    Py_ssize_t count;             /* The number of neighbours. */
    int64_t *gateways, *places, *which, *parents, *hops, *sources;   /* By topic, what counts so far. */
    int64_t *distinct, *firsts;   /* The number of each topic's gateway, and the first topic of each gateway. */
    uint16_t *topic_places;       /* By topic, one more than where it is among the peer's own; 0 for no topic. */
    int32_t most;                 /* The last of the peer's topics. */
    int64_t *slots;               /* A hash table of the neighbours, and then of the gateways. */
    size_t mask;
} Election;

static Room numbers_room;   /* The numbers of an election. */
static Room places_room;    /* The places of topics, all 0 between elections. */

static int64_t distance(int64_t one, int64_t other) {
    int64_t away = one < other ? other - one : one - other;
    return away < RING - away ? away : RING - away;
}

static size_t slot_of(const Election *election, int64_t peer) {
    size_t slot = (size_t)peer & election->mask;
    while (election->slots[slot] != NOTHING && election->slots[slot] != peer) slot = (slot + 1) & election->mask;
    return slot;
}

static int is_neighbour(const Election *election, int64_t peer) {
    return peer != NOTHING && election->slots[slot_of(election, peer)] == peer;
}

/* Weighs the proposals of a heartbeat for `size` topics. Returns 1, or 0 if two gateways cannot be told apart. */
static int weigh(
    Election *election, const Proposals *told, int64_t neighbour, int64_t heartbeat, const int32_t *topics, int64_t size
) {
    int64_t first = told->firsts.numbers[heartbeat];
    const int64_t *gateways = told->gateways.numbers + first, *places = told->places.numbers + first;
    const int64_t *parents = told->parents.numbers + first, *hops = told->hops.numbers + first;
    for (int64_t at = 0; at < size; at++) {
        if (topics[at] < 0 || topics[at] > election->most) continue;
        int place = election->topic_places[topics[at]] - 1;
        if (place < 0) continue;
        int64_t parent = parents[at], away = (int64_t)((uint64_t)hops[at] + 1);
        if (parent != neighbour && (parent == election->own || is_neighbour(election, parent))) continue;
        if (away >= election->limit) continue;
        if (gateways[at] == election->gateways[place]) {
            if (away >= election->hops[place]) continue;
        } else {
            int64_t key = election->keys.numbers[place];
            int64_t gain = distance(election->places[place], key) - distance(places[at], key);
            if (gain >= -1 && gain <= 1) return 0;
            if (gain < 0) continue;
        }
        election->gateways[place] = gateways[at];
        election->places[place] = places[at];
        election->which[place] = told->which.numbers[first + at];
        election->sources[place] = heartbeat;
        election->parents[place] = neighbour;
        election->hops[place] = away;
    }
    return 1;
}

/* Fetches into the caches what will soon be read of what a neighbour said: heartbeats lie far apart. */
static void fetch(const Election *election, const TopicLists *lists, const Proposals *told, Py_ssize_t at) {
    if (at + FAR < election->count) {
        int64_t heartbeat = election->said.numbers[at + FAR];
        if (heartbeat >= 0 && heartbeat < told->profiles.count && heartbeat < told->firsts.count) {
            __builtin_prefetch(told->profiles.numbers + heartbeat);
            __builtin_prefetch(told->firsts.numbers + heartbeat);
        }
    }
    if (at + NEAR >= election->count) return;
    int64_t heartbeat = election->said.numbers[at + NEAR];
    if (heartbeat < 0 || heartbeat >= told->profiles.count || heartbeat >= told->firsts.count) return;
    int64_t handle = told->profiles.numbers[heartbeat], first = told->firsts.numbers[heartbeat];
    if (handle < 0 || handle >= lists->begins.count || first < 0) return;
    for (int line = 0; line < LINES; line++) {
        __builtin_prefetch(lists->topics.numbers + lists->begins.numbers[handle] + 2 * LINE * line);
        __builtin_prefetch(told->parents.numbers + first + LINE * line);
        __builtin_prefetch(told->hops.numbers + first + LINE * line);
        __builtin_prefetch(told->gateways.numbers + first + LINE * line);
    }
}

/* Weighs what all neighbours said. Returns 1, 0 if two gateways cannot be told apart, or -1 with an error. */
static int weigh_all(Election *election, const TopicLists *lists, const Proposals *told) {
    int64_t known = told->gateways.count;
    for (Py_ssize_t at = 0; at < election->count; at++) {
        int64_t heartbeat = election->said.numbers[at];
        fetch(election, lists, told, at);
        if (heartbeat == NOTHING) continue;
        if (heartbeat < 0 || heartbeat >= told->profiles.count || heartbeat >= told->firsts.count) {
            PyErr_Format(PyExc_IndexError, "there is no heartbeat %lld", (long long)heartbeat);
            return -1;
        }
        int64_t first = told->firsts.numbers[heartbeat], size;
        if (first == NOTHING) continue;
        const int32_t *topics;
        if (topics_of(lists, told->profiles.numbers[heartbeat], &topics, &size) < 0) return -1;
        if (first < 0 || first > known || size > known - first) {
            PyErr_Format(PyExc_IndexError, "the proposals of heartbeat %lld are not there", (long long)heartbeat);
            return -1;
        }
        int weighed = weigh(election, told, election->neighbours.numbers[at], heartbeat, topics, size);
        if (weighed == 0) return 0;
    }
    return 1;
}

static int is_former(const Numbers *former, const int64_t *numbers, Py_ssize_t count) {
    return former->count == count && (count == 0 || memcmp(former->numbers, numbers, (size_t)count * 8) == 0);
}

/* Numbers the distinct gateways in the order of their first topics. Returns how many there are. */
static Py_ssize_t number_gateways(Election *election) {
    Py_ssize_t numbered = 0;
    for (size_t slot = 0; slot <= election->mask; slot++) election->slots[slot] = NOTHING;
    for (Py_ssize_t at = 0; at < election->keys.count; at++) {
        int64_t gateway = election->gateways[at];
        size_t slot = (size_t)gateway & election->mask;
        while (election->slots[slot] != NOTHING && election->gateways[election->slots[slot]] != gateway)
            slot = (slot + 1) & election->mask;
        if (election->slots[slot] == NOTHING) {
            election->slots[slot] = at;
            election->firsts[numbered] = at;
            election->distinct[at] = numbered++;
        } else {
            election->distinct[at] = election->distinct[election->slots[slot]];
        }
    }
    return numbered;
}

static PyObject *outcome(Election *election, const Numbers *former) {
    Py_ssize_t count = election->keys.count;
    if (is_former(&former[0], election->gateways, count) && is_former(&former[1], election->parents, count)
        && is_former(&former[2], election->hops, count))
        return PyTuple_New(0);
    Py_ssize_t distinct = number_gateways(election);
    for (Py_ssize_t at = 0; at < distinct; at++) {
        /* The first topic of a gateway is never before the gateway's number. */
        election->sources[at] = election->sources[election->firsts[at]];
        election->which[at] = election->which[election->firsts[at]];
    }
    const int64_t *parts[] = {
        election->gateways, election->parents, election->hops, election->places, election->distinct,
        election->sources, election->which,
    };
    const int all = sizeof parts / sizeof *parts;
    PyObject *found = PyTuple_New(all);
    for (int part = 0; found != NULL && part < all; part++) {
        PyObject *vector = new_vector(parts[part], part < 5 ? count : distinct);
        if (vector == NULL) Py_CLEAR(found);
        else PyTuple_SET_ITEM(found, part, vector);
    }
    return found;
}

/* Begins with the peer itself as the gateway of all its topics. Returns 0, or -1 with an error. */
static int begin(Election *election, const TopicLists *lists, int64_t profile, int64_t here) {
    const int32_t *topics;
    int64_t size;
    if (topics_of(lists, profile, &topics, &size) < 0) return -1;
    if (size != election->keys.count || size >= UINT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "topics and keys do not fit together");
        return -1;
    }
    election->most = -1;
    for (int64_t at = 0; at < size; at++)
        if (topics[at] > election->most) election->most = topics[at];
    size_t most = (size_t)(election->count > size ? election->count : size);
    for (election->mask = 63; election->mask < 2 * most; election->mask = 2 * election->mask + 1) {}
    size_t numbers = 8 * (size_t)size + election->mask + 1;
    election->gateways = make_room(&numbers_room, numbers * sizeof(int64_t));
    uint16_t *topic_places = make_room(&places_room, ((size_t)election->most + 1) * sizeof(uint16_t));
    if (election->gateways == NULL || topic_places == NULL) return -1;
    election->topic_places = topic_places;
    election->places = election->gateways + size;
    election->which = election->places + size;
    election->parents = election->which + size;
    election->hops = election->parents + size;
    election->sources = election->hops + size;
    election->distinct = election->sources + size;
    election->firsts = election->distinct + size;
    election->slots = election->firsts + size;
    for (int64_t at = 0; at < size; at++) {
        if (topics[at] >= 0) election->topic_places[topics[at]] = (uint16_t)(at + 1);
        election->gateways[at] = election->parents[at] = election->own;
        election->places[at] = here;
        election->hops[at] = 0;
        election->sources[at] = NOTHING;
        election->which[at] = 0;
    }
    for (size_t slot = 0; slot <= election->mask; slot++) election->slots[slot] = NOTHING;
    for (Py_ssize_t at = 0; at < election->count; at++) {
        int64_t peer = election->neighbours.numbers[at];
        if (peer != NOTHING) election->slots[slot_of(election, peer)] = peer;
    }
    return 0;
}

/* Sets the places of the peer's topics back to 0. */
static void forget_places(const Election *election, const TopicLists *lists, int64_t profile) {
    const int32_t *topics = lists->topics.numbers + lists->begins.numbers[profile];
    for (Py_ssize_t at = 0; at < election->keys.count; at++)
        if (topics[at] >= 0) election->topic_places[topics[at]] = 0;
}

static PyObject *hold(
    Election *election, const TopicLists *lists, const Proposals *told, const Numbers *former, int64_t profile,
    int64_t here
) {
    PyObject *found = NULL;
    Py_ssize_t known = told->gateways.count;
    if (election->count > election->neighbours.count || election->count > election->said.count)
        return PyErr_Format(PyExc_ValueError, "there are no %zd neighbours", election->count);
    if (told->places.count != known || told->which.count != known || told->parents.count != known
        || told->hops.count != known)
        return PyErr_Format(PyExc_ValueError, "the columns of proposals do not fit together");
    if (begin(election, lists, profile, here) == 0) {
        int weighed = weigh_all(election, lists, told);
        if (weighed == 1) found = outcome(election, former);
        else if (weighed == 0) found = Py_NewRef(Py_None);
        forget_places(election, lists, profile);
    }
    return found;
}

PyObject *elect(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("elect", count, 21) < 0) return NULL;
    Election election = {.own = PyLong_AsLongLong(arguments[0])};
    int64_t here = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[1]);
    election.limit = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[2]);
    int64_t profile = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[3]);
    election.count = PyErr_Occurred() ? 0 : read_count(arguments[7]);
    if (PyErr_Occurred()) return NULL;
    TopicLists lists;
    Proposals told;
    Numbers former[3];
    Numbers *columns[] = {
        &election.keys, &election.neighbours, &election.said, &lists.begins, &lists.sizes, &told.profiles,
        &told.firsts, &told.gateways, &told.places, &told.which, &told.parents, &told.hops, &former[0], &former[1],
        &former[2],
    };
    static const int given[] = {4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    const int all = sizeof given / sizeof *given;
    PyObject *found = NULL;
    if (open_topics(arguments[8], &lists.topics) < 0) return NULL;
    int opened = 0;
    while (opened < all && open_numbers(arguments[given[opened]], columns[opened]) == 0) opened++;
    if (opened == all) found = hold(&election, &lists, &told, former, profile, here);
    while (opened > 0) PyBuffer_Release(&columns[--opened]->view);
    PyBuffer_Release(&lists.topics.view);
    return found;
}
