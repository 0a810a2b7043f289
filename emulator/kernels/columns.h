/* What all kernels share: columns of numbers, which they read through Python's buffers. */

#ifndef TRELLIS_COLUMNS_H
#define TRELLIS_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
    Py_buffer view;
    const int64_t *numbers;
    Py_ssize_t count;
} Numbers;

typedef struct {
    Py_buffer view;
    const double *numbers;
    Py_ssize_t count;
} Floats;

typedef struct {
    Py_buffer view;
    const int32_t *numbers;
    Py_ssize_t count;
} Topics;

/* The topics of profiles: those of a handle are the `sizes[handle]` numbers of `topics` from `begins[handle]` on. */
typedef struct {
    Topics topics;
    Numbers begins, sizes;
} TopicLists;

/* Opens a column of 64 bits, or of 32 bits for topics. Returns 0, or -1 with TypeError or BufferError; the view
   of an open column is to be released. */
int open_numbers(PyObject *given, Numbers *column);
int open_floats(PyObject *given, Floats *column);
int open_topics(PyObject *given, Topics *column);

/* Opens a column of floats that the kernel writes to. */
int open_to_write(PyObject *given, Floats *column);

/* Finds the numbers of a vector of 64 bits that the kernel writes to, and how many these are. The vector owns them.
   Returns them, or NULL with TypeError or ValueError if it is no such vector or has none. */
int64_t *numbers_of(PyObject *vector, Py_ssize_t *count);

/* Finds the sets of a vector of vectors of 32 bits, each a `VecNestedBufItem`. Returns how many these are, or -1 with
   TypeError if it is no such vector. */
Py_ssize_t sets_of(PyObject *vector, const void **sets);

/* Makes a vector of 64 bits, which has these numbers. Returns it, or NULL with MemoryError. */
PyObject *new_vector(const int64_t *numbers, Py_ssize_t count);

/* Makes a vector of 32 bits for so many topics, which the caller writes to `topics`. Returns it, or NULL with
   MemoryError. */
PyObject *new_topics(Py_ssize_t count, int32_t **topics);

/* Room that a kernel works in. It is kept from one call to the next, since to allocate and free some kilobytes in each
   takes as long as some kernels compute. */
typedef struct {
    void *bytes;
    size_t size;
} Room;

/* Makes room for so many bytes. What a former call wrote stays, and what was added is zero. Returns the room, or NULL
   with MemoryError. */
void *make_room(Room *room, size_t size);

/* Finds the functions that make vectors, once for the module. Returns 0, or -1 with ImportError. */
int load_vectors(void);

/* Checks the number of arguments of a kernel. Returns 0, or -1 with TypeError. */
int check_count(const char *kernel, Py_ssize_t given, Py_ssize_t wanted);

/* Reads a count or place. Returns it, or -1 with TypeError, OverflowError or ValueError. */
Py_ssize_t read_count(PyObject *given);

/* Finds the topics of a profile. Returns 0, or -1 with IndexError. */
int topics_of(const TopicLists *lists, int64_t handle, const int32_t **topics, int64_t *size);

/* The kernels; the files that they are in say what each does. */
PyObject *best(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *elect(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *near(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *rate(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *next_hops(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *unite(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

/* Asks for huge pages; `arenas.c` says how. */
PyObject *use_huge_pages(PyObject *module, PyObject *nothing);

#endif
