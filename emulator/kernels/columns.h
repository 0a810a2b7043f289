/* What all kernels share: columns of numbers of 64 bits, which they read through Python's buffers. */

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

/* Opens a column. Returns 0, or -1 with TypeError or BufferError; an open column is to be closed. */
int open_numbers(PyObject *given, Numbers *column);
int open_floats(PyObject *given, Floats *column);
void close_numbers(Numbers *column);
void close_floats(Floats *column);

/* Checks the number of arguments of a kernel. Returns 0, or -1 with TypeError. */
int check_count(const char *kernel, Py_ssize_t given, Py_ssize_t wanted);

/* Reads a count or place. Returns it, or -1 with TypeError, OverflowError or ValueError. */
Py_ssize_t read_count(PyObject *given);

/* The kernels; the files that they are in say what each does. */
PyObject *best(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *near(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *next_hops(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
