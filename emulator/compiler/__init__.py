"""The compilation of rooms to native code, and the import of compiled modules.

`finder` lists the modules and imports their compiled form; `build` compiles them by mypyc.
"""
