/* elect(own, limit, profile, keys, neighbours, said, count, topics, begins, sizes, profiles, firsts, gateways, parents,
         hops, peers, places, former_gateways, former_parents, former_hops): the gateways of a peer.

   Each topic of the peer begins with the peer itself as its gateway, whose contact has the number `own`. Then what the
   neighbours propose is weighed, in their order (Vitis, Algorithm 5, lines 3 to 16): a proposal does not count if it
   came from this peer or from another of its neighbours (line 7), or is `limit` hops or more away; of two gateways the
   one that is closer to the topic's key counts, and of two ways to one gateway the shorter one.

   The first `count` of `neighbours` have said the heartbeats `said`, -1 for nothing. `profiles` has the handle of
   each heartbeat's profile, whose topics are the `sizes` numbers of `topics` from `begins` on, ascending. The
   proposals for them are the numbers from `firsts[heartbeat]` on in three columns of 32 bits, -1 for no proposals: the
   number of the gateway's contact, the peer that it is reached through, and the hops. By the number of a contact,
   `peers` has the peer and `places` its place on the ring. `profile` is the handle of the peer's own profile, and `keys`
   has the place of each of its topics. Places are in units of 2^-62 of the ring.

   Returns five vectors, () if gateways, parents and hops are the former ones, and None if two gateways are too close
   to each other to tell them apart by their places. By topic: the gateway, by the number of a contact, which is one for
   each peer; the parent; the hops; and which of the distinct gateways it is. Then the distinct gateways, in the order of
   their first topics. */

#include "columns.h"

#define RING ((int64_t)1 << 62)
#define NOTHING (-1)
#define FAR 4     /* Where the heartbeat of the neighbour that is this many further on begins is fetched, */
#define NEAR 1    /* and what the one that is this many further on said. */
#define LINE 16   /* The numbers of 32 bits in a line of a cache, */
#define LINES 3   /* and the lines that are fetched of each column. */

typedef struct {
    Numbers profiles, firsts, peers, places;
    Topics gateways, parents, hops;
} Proposals;

typedef struct {
    int64_t own, limit;
    Numbers keys, neighbours, said;
    Py_ssize_t count;             /* The number of neighbours. */
    int64_t contact;              /* The number of the peer's own contact. */
    int64_t *gateways, *peers, *places, *parents, *hops;   /* By topic, what counts so far. */
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

/* Weighs the proposals from `first` on for `size` topics. Returns 1, 0 if two gateways cannot be told apart, or -1 with
   an error. */
static int weigh(
    Election *election, const Proposals *told, int64_t neighbour, int64_t first, const int32_t *topics, int64_t size
) {
    const int32_t *gateways = told->gateways.numbers + first;
    const int32_t *parents = told->parents.numbers + first, *hops = told->hops.numbers + first;
    for (int64_t at = 0; at < size; at++) {
        if (topics[at] < 0 || topics[at] > election->most) continue;
        int place = election->topic_places[topics[at]] - 1;
        if (place < 0) continue;
        int64_t parent = parents[at], away = (int64_t)hops[at] + 1;
        int32_t contact = gateways[at];
        /* Most neighbours propose the gateway that is known, and no shorter way to it. */
        if (away >= election->limit || (contact == election->gateways[place] && away >= election->hops[place])) continue;
        if (parent != neighbour && (parent == election->own || is_neighbour(election, parent))) continue;
        if (contact < 0 || contact >= told->peers.count) {
            PyErr_Format(PyExc_IndexError, "there is no contact %d", contact);
            return -1;
        }
        int64_t gateway = told->peers.numbers[contact], there = told->places.numbers[contact];
        if (gateway == election->peers[place]) {
            if (away >= election->hops[place]) continue;
        } else {
            int64_t key = election->keys.numbers[place];
            int64_t gain = distance(election->places[place], key) - distance(there, key);
            if (gain >= -1 && gain <= 1) return 0;
            if (gain < 0) continue;
        }
        election->gateways[place] = contact;
        election->peers[place] = gateway;
        election->places[place] = there;
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
        __builtin_prefetch(lists->topics.numbers + lists->begins.numbers[handle] + LINE * line);
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
        int weighed = weigh(election, told, election->neighbours.numbers[at], first, topics, size);
        if (weighed != 1) return weighed;
    }
    return 1;
}

static int is_former(const Numbers *former, const int64_t *numbers, Py_ssize_t count) {
    return former->count == count && (count == 0 || memcmp(former->numbers, numbers, (size_t)count * 8) == 0);
}

/* Returns whether these are the contacts of the elected gateways, or others of the same peers. */
static int are_former(const Numbers *former, const Election *election, const Proposals *told) {
    if (former->count != election->keys.count) return 0;
    for (Py_ssize_t at = 0; at < former->count; at++) {
        int64_t contact = former->numbers[at];
        if (contact < 0 || contact >= told->peers.count || told->peers.numbers[contact] != election->peers[at]) return 0;
    }
    return 1;
}

/* Numbers the distinct gateways in the order of their first topics. Returns how many there are. */
static Py_ssize_t number_gateways(Election *election) {
    Py_ssize_t numbered = 0;
    for (size_t slot = 0; slot <= election->mask; slot++) election->slots[slot] = NOTHING;
    for (Py_ssize_t at = 0; at < election->keys.count; at++) {
        int64_t gateway = election->peers[at];
        size_t slot = (size_t)gateway & election->mask;
        while (election->slots[slot] != NOTHING && election->peers[election->slots[slot]] != gateway)
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

static PyObject *outcome(Election *election, const Proposals *told, const Numbers *former) {
    Py_ssize_t count = election->keys.count;
    if (are_former(&former[0], election, told) && is_former(&former[1], election->parents, count)
        && is_former(&former[2], election->hops, count))
        return PyTuple_New(0);
    Py_ssize_t distinct = number_gateways(election);
    int64_t *named = election->places;   /* The places are no longer needed. */
    for (Py_ssize_t at = 0; at < distinct; at++) named[at] = election->gateways[election->firsts[at]];
    for (Py_ssize_t at = 0; at < count; at++) election->gateways[at] = named[election->distinct[at]];
    const int64_t *parts[] = {election->gateways, election->parents, election->hops, election->distinct, named};
    const int all = sizeof parts / sizeof *parts;
    PyObject *found = PyTuple_New(all);
    for (int part = 0; found != NULL && part < all; part++) {
        PyObject *vector = new_vector(parts[part], part < all - 1 ? count : distinct);
        if (vector == NULL) Py_CLEAR(found);
        else PyTuple_SET_ITEM(found, part, vector);
    }
    return found;
}

/* Begins with the peer itself as the gateway of all its topics. Returns 0, or -1 with an error. */
static int begin(Election *election, const TopicLists *lists, const Proposals *told, int64_t profile) {
    const int32_t *topics;
    int64_t size;
    if (topics_of(lists, profile, &topics, &size) < 0) return -1;
    if (size != election->keys.count || size >= UINT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "topics and keys do not fit together");
        return -1;
    }
    if (election->contact < 0 || election->contact >= told->peers.count) {
        PyErr_Format(PyExc_IndexError, "there is no contact %lld", (long long)election->contact);
        return -1;
    }
    election->own = told->peers.numbers[election->contact];
    election->most = -1;
    for (int64_t at = 0; at < size; at++)
        if (topics[at] > election->most) election->most = topics[at];
    size_t most = (size_t)(election->count > size ? election->count : size);
    for (election->mask = 63; election->mask < 2 * most; election->mask = 2 * election->mask + 1) {}
    size_t numbers = 7 * (size_t)size + election->mask + 1;
    election->gateways = make_room(&numbers_room, numbers * sizeof(int64_t));
    uint16_t *topic_places = make_room(&places_room, ((size_t)election->most + 1) * sizeof(uint16_t));
    if (election->gateways == NULL || topic_places == NULL) return -1;
    election->topic_places = topic_places;
    election->peers = election->gateways + size;
    election->places = election->peers + size;
    election->parents = election->places + size;
    election->hops = election->parents + size;
    election->distinct = election->hops + size;
    election->firsts = election->distinct + size;
    election->slots = election->firsts + size;
    for (int64_t at = 0; at < size; at++) {
        if (topics[at] >= 0) election->topic_places[topics[at]] = (uint16_t)(at + 1);
        election->gateways[at] = election->contact;
        election->peers[at] = election->parents[at] = election->own;
        election->places[at] = told->places.numbers[election->contact];
        election->hops[at] = 0;
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
    Election *election, const TopicLists *lists, const Proposals *told, const Numbers *former, int64_t profile
) {
    PyObject *found = NULL;
    Py_ssize_t known = told->gateways.count;
    if (election->count > election->neighbours.count || election->count > election->said.count)
        return PyErr_Format(PyExc_ValueError, "there are no %zd neighbours", election->count);
    if (told->parents.count != known || told->hops.count != known)
        return PyErr_Format(PyExc_ValueError, "the columns of proposals do not fit together");
    if (told->peers.count != told->places.count)
        return PyErr_Format(PyExc_ValueError, "the columns of contacts do not fit together");
    if (begin(election, lists, told, profile) == 0) {
        int weighed = weigh_all(election, lists, told);
        if (weighed == 1) found = outcome(election, told, former);
        else if (weighed == 0) found = Py_NewRef(Py_None);
        forget_places(election, lists, profile);
    }
    return found;
}

PyObject *elect(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("elect", count, 20) < 0) return NULL;
    Election election = {.contact = PyLong_AsLongLong(arguments[0])};
    election.limit = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[1]);
    int64_t profile = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[2]);
    election.count = PyErr_Occurred() ? 0 : read_count(arguments[6]);
    if (PyErr_Occurred()) return NULL;
    TopicLists lists;
    Proposals told;
    Numbers former[3];
    Numbers *columns[] = {
        &election.keys, &election.neighbours, &election.said, &lists.begins, &lists.sizes, &told.profiles,
        &told.firsts, &told.peers, &told.places, &former[0], &former[1], &former[2],
    };
    Topics *short_columns[] = {&lists.topics, &told.gateways, &told.parents, &told.hops};
    static const int given[] = {3, 4, 5, 8, 9, 10, 11, 15, 16, 17, 18, 19}, short_given[] = {7, 12, 13, 14};
    const int all = sizeof given / sizeof *given, short_all = sizeof short_given / sizeof *short_given;
    PyObject *found = NULL;
    int opened = 0, short_opened = 0;
    while (opened < all && open_numbers(arguments[given[opened]], columns[opened]) == 0) opened++;
    if (opened == all)
        while (short_opened < short_all
               && open_topics(arguments[short_given[short_opened]], short_columns[short_opened]) == 0)
            short_opened++;
    if (short_opened == short_all) found = hold(&election, &lists, &told, former, profile);
    while (short_opened > 0) PyBuffer_Release(&short_columns[--short_opened]->view);
    while (opened > 0) PyBuffer_Release(&columns[--opened]->view);
    return found;
}
