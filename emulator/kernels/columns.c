/* Columns of numbers: the checks that no kernel can leave out. */

#include "columns.h"
#include "vecs/librt_vecs.h"

static const VecI64API *vectors = NULL;
static const VecI32API *short_vectors = NULL;
static const VecNestedAPI *nested_vectors = NULL;

static int open_column(PyObject *given, Py_buffer *view, int flags, const char *formats, Py_ssize_t bytes) {
    if (PyObject_GetBuffer(given, view, PyBUF_ND | PyBUF_FORMAT | flags) < 0) return -1;
    const char *format = view->format == NULL ? "B" : view->format;
    if (view->itemsize == bytes && strlen(format) == 1 && strchr(formats, format[0]) != NULL) return 0;
    PyErr_Format(PyExc_TypeError, "a column has the format %s, and not %c", format, formats[0]);
    PyBuffer_Release(view);
    return -1;
}

int open_numbers(PyObject *given, Numbers *column) {
    if (open_column(given, &column->view, 0, "ql", 8) < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 8;
    return 0;
}

int open_floats(PyObject *given, Floats *column) {
    if (open_column(given, &column->view, 0, "d", 8) < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 8;
    return 0;
}

int open_topics(PyObject *given, Topics *column) {
    if (open_column(given, &column->view, 0, "il", 4) < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 4;
    return 0;
}

int open_to_write(PyObject *given, Floats *column) {
    if (open_column(given, &column->view, PyBUF_WRITABLE, "d", 8) < 0) return -1;
    column->numbers = column->view.buf;
    column->count = column->view.len / 8;
    return 0;
}

int load_vectors(void) {
    PyObject *library = PyImport_ImportModule("librt.vecs");
    if (library == NULL) return -1;
    Py_DECREF(library);
    const VecCapsule *capsule = PyCapsule_Import("librt.vecs._C_API", 0);
    if (capsule == NULL) return -1;
    if (capsule->abi_version() != LIBRT_VECS_ABI_VERSION) {
        PyErr_SetString(PyExc_ImportError, "the kernels were built for another edition of librt");
        return -1;
    }
    vectors = capsule->i64;
    short_vectors = capsule->i32;
    nested_vectors = capsule->nested;
    return 0;
}

PyObject *new_vector(const int64_t *numbers, Py_ssize_t count) {
    VecI64 vector = vectors->alloc(count, count);
    if (PyErr_Occurred()) return NULL;
    if (count > 0) memcpy(vector.items, numbers, (size_t)count * sizeof *numbers);
    return vectors->box(vector);
}

int64_t *numbers_of(PyObject *vector, Py_ssize_t *count) {
    if (!Py_IS_TYPE(vector, vectors->boxed_type)) {
        PyErr_SetString(PyExc_TypeError, "what is written to is a vector of 64 bits");
        return NULL;
    }
    VecI64 numbers = ((VecI64Object *)vector)->vec;
    *count = numbers.len;
    if (numbers.len > 0) return numbers.items;
    PyErr_SetString(PyExc_ValueError, "what is written to is empty");
    return NULL;
}

Py_ssize_t sets_of(PyObject *vector, const void **sets) {
    VecNested nested = {0, NULL};
    int fits = Py_IS_TYPE(vector, nested_vectors->boxed_type);
    if (fits) nested = ((VecNestedObject *)vector)->vec;
    if (nested.items != NULL) {
        const VecNestedBufObject *kept = VEC_NESTED_BUF_FROM_ITEMS(nested.items);
        fits = kept->item_type == VEC_ITEM_TYPE_I32 && kept->depth == 1;
    }
    *sets = nested.items;
    if (fits) return nested.len;
    PyErr_SetString(PyExc_TypeError, "sets are a vector of vectors of 32 bits");
    return -1;
}

PyObject *new_topics(Py_ssize_t count, int32_t **topics) {
    VecI32 vector = short_vectors->alloc(count, count);
    if (PyErr_Occurred()) return NULL;
    *topics = vector.items;
    return short_vectors->box(vector);
}

void *make_room(Room *room, size_t size) {
    if (room->bytes != NULL && size <= room->size) return room->bytes;
    size_t wide = 2 * room->size > size ? 2 * room->size : size + 1;
    char *bytes = PyMem_Realloc(room->bytes, wide);
    if (bytes == NULL) return PyErr_NoMemory();
    memset(bytes + room->size, 0, wide - room->size);
    *room = (Room){bytes, wide};
    return bytes;
}

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

int topics_of(const TopicLists *lists, int64_t handle, const int32_t **topics, int64_t *size) {
    if (handle < 0 || handle >= lists->begins.count || handle >= lists->sizes.count) {
        PyErr_Format(PyExc_IndexError, "handle %lld has no topics", (long long)handle);
        return -1;
    }
    int64_t begin = lists->begins.numbers[handle], known = lists->topics.count;
    *size = lists->sizes.numbers[handle];
    if (begin < 0 || *size < 0 || begin > known || *size > known - begin) {
        PyErr_Format(PyExc_IndexError, "the topics of handle %lld are not there", (long long)handle);
        return -1;
    }
    *topics = lists->topics.numbers + begin;
    return 0;
}
