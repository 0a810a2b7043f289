/* Columns of numbers of 64 bits: the checks that no kernel can leave out. */

#include "columns.h"

static int open_column(PyObject *given, Py_buffer *view, const char *formats) {
    if (PyObject_GetBuffer(given, view, PyBUF_FORMAT) < 0) return -1;
    const char *format = view->format == NULL ? "B" : view->format;
    if (view->itemsize == 8 && format[0] != 0 && format[1] == 0 && strchr(formats, format[0]) != NULL) return 0;
    PyErr_Format(PyExc_TypeError, "a column has the format %s, and not %c", format, formats[0]);
    PyBuffer_Release(view);
    return -1;
}

int open_numbers(PyObject *given, Numbers *column) {
    if (open_column(given, &column->view, "ql") < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 8;
    return 0;
}

int open_floats(PyObject *given, Floats *column) {
    if (open_column(given, &column->view, "d") < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 8;
    return 0;
}

void close_numbers(Numbers *column) { PyBuffer_Release(&column->view); }

void close_floats(Floats *column) { PyBuffer_Release(&column->view); }

int check_count(const char *kernel, Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted) return 0;
    PyErr_Format(PyExc_TypeError, "%s takes %zd arguments, and not %zd", kernel, wanted, given);
    return -1;
}

Py_ssize_t read_count(PyObject *given) {
    Py_ssize_t count = PyLong_AsSsize_t(given);
    if (count >= 0 || PyErr_Occurred()) return count;
    PyErr_Format(PyExc_ValueError, "%zd is no count", count);
    return -1;
}
