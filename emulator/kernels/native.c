/* The module `emulator.kernels.native`, which has all kernels. */

#include "columns.h"

static PyMethodDef methods[] = {
    {"best", (PyCFunction)(void (*)(void))best, METH_FASTCALL, NULL},
    {"elect", (PyCFunction)(void (*)(void))elect, METH_FASTCALL, NULL},
    {"near", (PyCFunction)(void (*)(void))near, METH_FASTCALL, NULL},
    {"rate", (PyCFunction)(void (*)(void))rate, METH_FASTCALL, NULL},
    {"next_hops", (PyCFunction)(void (*)(void))next_hops, METH_FASTCALL, NULL},
    {"unite", (PyCFunction)(void (*)(void))unite, METH_FASTCALL, NULL},
    {"use_huge_pages", use_huge_pages, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int load(PyObject *module) {
    (void)module;
    return load_vectors();
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)load}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "emulator.kernels.native", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit_native(void) { return PyModuleDef_Init(&definition); }
