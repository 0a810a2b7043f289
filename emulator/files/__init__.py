"""Reading and writing files, with their names, lines and disks in every message.

`reading` opens what a user names, `disk` tells what the system refused, `compressed`, `trace_lines` and
`trace_error` read trace and matrix files, `input_facts` is what readers tell of them, `quantities` reads
numbers with units, `yaml_text` reads YAML, and `damage` is the error of a file that has changed since Trellis
wrote it.
"""
