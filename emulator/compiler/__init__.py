"""What is compiled to native code, and how it is found.

`finder` lists the modules and has the compiled ones imported; `build` compiles them by mypyc.
"""
