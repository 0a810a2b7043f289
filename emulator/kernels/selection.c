/* near and best: the choices of Vitis's Algorithm 4 among candidates.

   near(handles, count, places, here, reaches) returns the places among the candidates of the successor, the
   predecessor (left out if it is the same one), and of a small-world link for each of `reaches` (line 8). The
   first `count` of `handles` are the candidates; `places` has where each handle's peer is on the ring, and
   `here` is the peer that chooses, in units of 2^-62 of the ring. The reach of a link is from 0 (1/n of the ring,
   where n is estimated from the distance between successor and predecessor) to 1 (half of the ring), and
   logarithmic; a negative one reaches to the other side. Each link goes to the nearest candidate that is left.

   best(utilities, handles, count, places, here, kept, taken, most) returns the places of the up to `most`
   candidates of the highest utility (lines 11 to 15), the best first, without those in `taken`. Of equals the
   first `kept` candidates come first, then those whose place on the ring differs from `here` in the least bits:
   if the order were not the peer's own, all peers would choose the same few as friends. */

#include <math.h>

#include "columns.h"

#define RING ((int64_t)1 << 62)
#define NONE (-1)

typedef struct {
    Py_ssize_t count;
    int64_t *clockwise;   /* The distance of each candidate from here. */
    char *taken;
} Candidates;

static Room numbers_room, taken_room, places_room;

static int append_place(PyObject *chosen, Py_ssize_t place) {
    PyObject *number = PyLong_FromSsize_t(place);
    if (number == NULL) return -1;
    int failed = PyList_Append(chosen, number);
    Py_DECREF(number);
    return failed;
}

static int take(Candidates *candidates, PyObject *chosen, Py_ssize_t place) {
    candidates->taken[place] = 1;
    return append_place(chosen, place);
}

/* Returns room in which no candidate is taken, or NULL with MemoryError. */
static char *none_taken(Py_ssize_t count) {
    char *taken = make_room(&taken_room, (size_t)count);
    return taken == NULL ? NULL : memset(taken, 0, (size_t)count);
}

/* Measures the candidates' distances. Returns 0, or -1 with IndexError. */
static int measure(Candidates *candidates, const Numbers *handles, const Numbers *places, int64_t here) {
    for (Py_ssize_t place = 0; place < candidates->count; place++) {
        int64_t handle = handles->numbers[place];
        if (handle < 0 || handle >= places->count) {
            PyErr_Format(PyExc_IndexError, "handle %lld has no place", (long long)handle);
            return -1;
        }
        candidates->clockwise[place] = (int64_t)(((uint64_t)places->numbers[handle] - (uint64_t)here) & (RING - 1));
    }
    return 0;
}

/* Returns the candidate that is left nearest to a point clockwise from here, NONE if none is left. */
static Py_ssize_t nearest(const Candidates *candidates, int64_t target) {
    Py_ssize_t found = NONE;
    int64_t distance = RING;
    for (Py_ssize_t place = 0; place < candidates->count; place++) {
        int64_t away = candidates->clockwise[place] - target;
        if (away < 0) away = -away;
        if (away < distance && !candidates->taken[place]) {
            found = place;
            distance = away;
        }
    }
    return found;
}

static int take_links(Candidates *candidates, PyObject *chosen, int64_t gap, const Floats *reaches) {
    double least = (double)gap, spread = log((double)(RING / 2) / least);
    for (Py_ssize_t link = 0; link < reaches->count; link++) {
        double reach = reaches->numbers[link], length = least * exp(spread * fabs(reach));
        if (!(length < (double)RING)) {
            PyErr_SetString(PyExc_ValueError, "a link reaches round the ring");
            return -1;
        }
        Py_ssize_t found = nearest(candidates, signbit(reach) ? RING - (int64_t)length : (int64_t)length);
        if (found == NONE) return 0;
        if (take(candidates, chosen, found) < 0) return -1;
    }
    return 0;
}

static int take_near(Candidates *candidates, PyObject *chosen, const Floats *reaches) {
    const int64_t *clockwise = candidates->clockwise;
    Py_ssize_t successor = 0, predecessor = 0;
    for (Py_ssize_t place = 1; place < candidates->count; place++) {
        if (clockwise[place] < clockwise[successor]) successor = place;
        if (clockwise[place] > clockwise[predecessor]) predecessor = place;
    }
    if (take(candidates, chosen, successor) < 0) return -1;
    if (predecessor == successor) return 0;
    if (take(candidates, chosen, predecessor) < 0) return -1;
    int64_t gap = (clockwise[successor] + (RING - clockwise[predecessor])) / 2;
    gap = gap > RING / 4 ? RING / 4 : gap < 1 ? 1 : gap;
    return take_links(candidates, chosen, gap, reaches);
}

static PyObject *choose_near(
    const Numbers *handles, Py_ssize_t count, const Numbers *places, int64_t here, const Floats *reaches
) {
    if (count > handles->count) return PyErr_Format(PyExc_ValueError, "there are no %zd candidates", count);
    PyObject *chosen = PyList_New(0);
    if (count == 0 || chosen == NULL) return chosen;
    Candidates candidates = {.count = count};
    candidates.clockwise = make_room(&numbers_room, (size_t)count * sizeof(int64_t));
    candidates.taken = none_taken(count);
    if (candidates.clockwise == NULL || candidates.taken == NULL || measure(&candidates, handles, places, here) < 0
        || take_near(&candidates, chosen, reaches) < 0)
        Py_CLEAR(chosen);
    return chosen;
}

PyObject *near(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("near", count, 5) < 0) return NULL;
    Py_ssize_t candidates = read_count(arguments[1]);
    long long here = PyLong_AsLongLong(arguments[3]);
    if (PyErr_Occurred()) return NULL;
    Numbers handles, places;
    Floats reaches;
    PyObject *chosen = NULL;
    if (open_numbers(arguments[0], &handles) < 0) return NULL;
    if (open_numbers(arguments[2], &places) == 0) {
        if (open_floats(arguments[4], &reaches) == 0) {
            chosen = choose_near(&handles, candidates, &places, here, &reaches);
            PyBuffer_Release(&reaches.view);
        }
        PyBuffer_Release(&places.view);
    }
    PyBuffer_Release(&handles.view);
    return chosen;
}

typedef struct {
    const double *utilities;
    int64_t *orders;   /* The least comes first among equals. */
    char *taken;
    Py_ssize_t *places;
    Py_ssize_t count, kept;
} Ranking;

static int outranks(const Ranking *ranking, Py_ssize_t one, Py_ssize_t other) {
    const double *utilities = ranking->utilities;
    if (utilities[one] != utilities[other]) return utilities[one] > utilities[other];
    if ((one < ranking->kept) != (other < ranking->kept)) return one < ranking->kept;
    return ranking->orders[one] < ranking->orders[other];
}

/* Keeps the up to `most` best candidates in `places`. Returns how many there are. */
static Py_ssize_t rank(Ranking *ranking, Py_ssize_t most) {
    Py_ssize_t found = 0, *places = ranking->places;
    for (Py_ssize_t candidate = 0; candidate < ranking->count; candidate++) {
        if (ranking->taken[candidate]) continue;
        Py_ssize_t at = found;
        if (found < most) found++;
        else if (!outranks(ranking, candidate, places[--at])) continue;
        for (; at > 0 && outranks(ranking, candidate, places[at - 1]); at--) places[at] = places[at - 1];
        places[at] = candidate;
    }
    return found;
}

/* Marks the candidates that are taken. Returns 0, or -1 with TypeError, ValueError or IndexError. */
static int mark_taken(Ranking *ranking, PyObject *taken) {
    for (Py_ssize_t place = 0; place < PyList_GET_SIZE(taken); place++) {
        Py_ssize_t candidate = read_count(PyList_GET_ITEM(taken, place));
        if (candidate < 0) return -1;
        if (candidate >= ranking->count) {
            PyErr_Format(PyExc_IndexError, "there is no candidate %zd to be taken", candidate);
            return -1;
        }
        ranking->taken[candidate] = 1;
    }
    return 0;
}

/* Sets the orders of the candidates. Returns 0, or -1 with IndexError. */
static int order(Ranking *ranking, const Numbers *handles, const Numbers *places, int64_t here) {
    for (Py_ssize_t place = 0; place < ranking->count; place++) {
        int64_t handle = handles->numbers[place];
        if (handle < 0 || handle >= places->count) {
            PyErr_Format(PyExc_IndexError, "handle %lld has no place", (long long)handle);
            return -1;
        }
        ranking->orders[place] = places->numbers[handle] ^ here;
    }
    return 0;
}

static PyObject *listed(const Ranking *ranking, Py_ssize_t found) {
    PyObject *chosen = PyList_New(0);
    for (Py_ssize_t at = 0; chosen != NULL && at < found; at++)
        if (append_place(chosen, ranking->places[at]) < 0) Py_CLEAR(chosen);
    return chosen;
}

static PyObject *choose_best(
    Ranking *ranking, const Numbers *handles, const Numbers *places, int64_t here, PyObject *taken, Py_ssize_t most
) {
    size_t room = (size_t)ranking->count + 1;
    PyObject *chosen = NULL;
    if (most > ranking->count) most = ranking->count;
    ranking->orders = make_room(&numbers_room, room * sizeof(int64_t));
    ranking->taken = none_taken((Py_ssize_t)room);
    ranking->places = make_room(&places_room, ((size_t)most + 1) * sizeof(Py_ssize_t));
    if (ranking->orders == NULL || ranking->taken == NULL || ranking->places == NULL) return NULL;
    if (mark_taken(ranking, taken) == 0 && order(ranking, handles, places, here) == 0) {
        chosen = listed(ranking, most == 0 ? 0 : rank(ranking, most));
    }
    return chosen;
}

PyObject *best(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
    (void)module;
    if (check_count("best", count, 8) < 0) return NULL;
    Py_ssize_t candidates = read_count(arguments[2]), kept = read_count(arguments[5]), most = read_count(arguments[7]);
    long long here = PyErr_Occurred() ? 0 : PyLong_AsLongLong(arguments[4]);
    if (PyErr_Occurred()) return NULL;
    if (!PyList_Check(arguments[6])) {
        PyErr_SetString(PyExc_TypeError, "the taken candidates are a list of places");
        return NULL;
    }
    Floats utilities;
    Numbers handles, places;
    PyObject *chosen = NULL;
    if (open_floats(arguments[0], &utilities) < 0) return NULL;
    if (open_numbers(arguments[1], &handles) == 0) {
        if (open_numbers(arguments[3], &places) == 0) {
            if (candidates > utilities.count || candidates > handles.count) {
                PyErr_Format(PyExc_ValueError, "there are no %zd candidates", candidates);
            } else {
                Ranking ranking = {.utilities = utilities.numbers, .count = candidates, .kept = kept};
                chosen = choose_best(&ranking, &handles, &places, here, arguments[6], most);
            }
            PyBuffer_Release(&places.view);
        }
        PyBuffer_Release(&handles.view);
    }
    PyBuffer_Release(&utilities.view);
    return chosen;
}
