"""Inputs as strangers bring them: broken ones with what is told, and odd ones with what is read of them."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile

Cases = list[tuple[str, str | bytes, str]]
"""The kind of each input (see `test_input_corpus`), its text, and a part of what the command says."""

SQUARE = "0 40 50 60\n40 0 70 80\n50 70 0 90\n60 80 90 0\n"
PLACES = "topology a 4\nnode 1\nnode 2\nnode 3\nnode 4\n1,2 20\n1,3 25\n1,4 30\n2,3 35\n2,4 40\n3,4 45\n"
THREE = "a\t1\t0 30\nb\t1\t0 30\nc\t1\t0 30\n"
EDGES = "1 2\n2 3\n3 4\n4 1\n1 3\n"
EDITS = "".join(f"{page},{editor}\n" for page in range(6) for editor in range(8) if (page + editor) % 2)
COORDINATES = "%%MatrixMarket matrix coordinate pattern general\n"


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def tarred(content: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("rtt")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content.encode()))
    return out.getvalue()


def swapped(text: str, separator: str) -> str:
    return text.replace(" ", separator)


BROKEN: Cases = [
    ("matrix", "0\n40 0\n50 70 0\n60 80 90 0\n", "f:2: 2 values, but the first line has 1"),
    ("matrix", "40 50 60\n70 80\n90\n", "f:2: 2 values, but the first line has 3"),
    ("matrix", "0 1 040 50\n1 040 0 70\n50 70 0\n", "f:3: 3 values, but the first line has 4"),
    ("matrix", "0 0x28\n0x28 0\n", "this one has 1. It begins with '0 0x28'"),
    ("matrix", "0 1_000\n1_000 0\n", "f:1: column 2 is '1_000', which is not a number"),
    ("matrix", "0 \u0664\u0660\n\u0664\u0660 0\n", "f:1: column 2 is '\u0664\u0660', which is not a number"),
    ("matrix", "0 \uff14\uff10\n\uff14\uff10 0\n", "f:1: column 2 is '\uff14\uff10', which is not a number"),
    ("matrix", "0 Infinity\nInfinity 0\n", "f:1: column 2 is 'Infinity', which is not a number"),
    (
        "matrix",
        "0 -1 3\n-1 0 4\n3 4 0\n",
        "f:1: a negative RTT in column 2. A pair without a measurement is nan",
    ),
    ("matrix", "0 4.0D1\n4.0D1 0\n", "It begins with '0 4.0D1'"),
    ("matrix", "0 40 # a\n40 0 # b\n", "f:1: column 3 is '#', which is not a number"),
    ("matrix", "0 40\n40 0\n\n0 50\n50 0\n", "f:5: 4 lines of 2 values; the two must be equal"),
    ("matrix", "0 1 40\n0 2 50\n1 2 70\n", "f:3: asymmetric: column 1 is 1, its mirror image 40"),
    ("matrix", "1 2 40\n1 3 50\n2 3 70\n1 4 3\n", "f:4: 4 lines of 3 values"),
    ("matrix", "[[0, 40], [40, 0]]\n", "It begins with '[[0, 40], [40, 0]]'"),
    ("matrix", "[[0. 40.]\n [40. 0.]]\n", "f:1: column 1 is '[[0.', which is not a number"),
    ("matrix", "0\n", "this one has 1. It begins with '0'"),
    ("matrix", "* *\n* *\n", "no RTT between hosts 1 and 2, and no host has one to both"),
    ("matrix", "0 40 * *\n40 0 * *\n* * 0 40\n* * 40 0\n", "no RTT between hosts 1 and 3"),
    ("matrix", "0,40\n40;0\n", "f:2: column 1 is '40;0', which is not a number"),
    ("matrix", "0 40\u200b\n40 0\n", "which is not a number"),
    ("matrix", "0 \u221240\n\u221240 0\n", "f:1: column 2 is '\u221240', which is not a number"),
    ("matrix", "0,,40\n40,,0\n", "f:2: 2 lines of 3 values"),
    ("matrix", SQUARE.encode("utf-16"), "f:1: is not a text file in UTF-8 but in UTF-16"),
    (
        "matrix",
        "x,é,b\né,0,40\nb,40,0\n".encode("latin1"),
        "f:1: is not a text file in UTF-8. Save it as UTF-8",
    ),
    ("matrix", gzip.compress(gzip.compress(SQUARE.encode())), "f:1: holds a gz file, which is not read"),
    ("matrix", gzip.compress(bz2.compress(SQUARE.encode())), "f:1: holds a bz2 file, which is not read"),
    ("matrix", tarred(SQUARE), "f:1: holds a tar file, which is not read. Unpack it"),
    ("matrix", gzip.compress(SQUARE.encode())[:-9], "cannot be uncompressed from here on"),
    ("matrix", gzip.compress(SQUARE.encode()) + b"garbage", "cannot be uncompressed from here on"),
    ("matrix", zipped(a__f=SQUARE, __MACOSX__f="x"), "is a zip file of 2 files"),
    ("matrix", b"\x93NUMPY\x01\x00v\x00{'descr': '<f8'}\n" + bytes(32), "holds a NumPy file"),
    ("matrix", ",1e5,2e5\n1e5,0,40\n2e5,40,0\n", "or give the numbers of hosts in the first line and column"),
    ("matrix", ",0,1\n0,0,40\n1,40,0\n", "or give the numbers of hosts in the first line and column"),
    ("matrix", "0 1 2 3\n" + SQUARE, "f:5: 5 lines of 4 values"),
    ("matrix", "1 0 40 50\n2 40 0 70\n3 50 70 0\n", "f:3: 3 lines of 4 values"),
    ("matrix", "4\n" + SQUARE, "f:2: 4 values, but the first line has 1"),
    ("matrix", ",10.0.0.1,10.0.0.2\n10.0.0.2,0,40\n10.0.0.1,40,0\n", "f:2: row 1 is of '10.0.0.2'"),
    ("matrix", "0,40,\n40,0,70\n,70,0\n", "f:2: 3 values, but the first line has 2. Write nan"),
    ("matrix", "0,40,#N/A\n40,0,70\n#N/A,70,0\n", "f:1: column 3 is '#N/A'"),
    ("matrix", "0,x,40\nx,0,70\n40,70,0\n", "f:1: column 2 is 'x'"),
    ("topology", PLACES + "1,2 99\n", "f:12: 1,2 is 99, earlier 20. Keep one"),
    ("topology", PLACES + "2,1 99\n", "f:12: asymmetric: 2,1 is 99, earlier 20"),
    ("topology", PLACES.replace("node 2\n", "node 2\nnode 2\n"), "f:4: node 2 is named twice"),
    ("topology", PLACES + "1,9 20\n", "f:12: no `node 9` line before this pair"),
    ("topology", PLACES.replace(",", " , "), "f:6: '1 , 2 20', but expected `i,j latency`"),
    ("topology", PLACES.replace("1,2 20", "1,2 20ms"), "f:6: expected `i,j latency` with a number of ms"),
    ("topology", PLACES.replace("1,2 20", "1,2 20 0.1"), "f:6: '0.1' after the latency"),
    ("topology", PLACES.replace("1,2 20", "1,2 20,5"), "f:6: expected `i,j latency` with a number of ms"),
    ("topology", PLACES.replace("node", "Node"), "this one has 0"),
    ("trace", THREE + "d,1,0,30\n", "f:4: expected `id TAB count TAB start end"),
    ("trace", THREE + "d\t1\t0 30\nd\t1\t40 50\n", "f:5: node d is already in line 4"),
    ("trace", THREE + "d\t2\t0 30\n", "f:4: says 2 sessions, which are 4 times, but has 2"),
    ("trace", THREE + "d\t1\t30 0\n", "f:4: session 30 to 0 does not end after it starts"),
    ("trace", THREE + "d\t2\t20 30 0 10\n", "f:4: session 0 to 10 overlaps or precedes the one"),
    ("trace", THREE + "d\t1\t0s 30s\n", "f:4: '0s' is not a number of seconds"),
    ("trace", THREE + "d\t1\t2005-10-22 2005-10-23\n", "f:4: '2005-10-22' is not a number of seconds"),
    ("trace", THREE + "d\t1\t-5 30\n", "f:4: session -5 to 30 does not end after it starts"),
    ("trace", THREE, "has 3 nodes, but the trial needs 4: lower `peers`"),
    ("trace", "node\tsessions\ttimes\n" + THREE, "f:1: expected `id TAB count TAB start end"),
    ("trace", THREE.replace("30", "10") + "d\t1\t0 10\n", "go beyond the end of the trace at 10 s"),
    ("graph", swapped(EDGES, " -> "), "f:1: expected two node ids, `a b`, but found 3 words"),
    ("graph", EDGES.replace("\n", " 5\n"), "f:1: expected two node ids, `a b`, but found 3 words"),
    ("graph", "0 1 1 0\n1 0 0 1\n1 0 0 1\n0 1 1 0\n", "f:1: expected two node ids"),
    ("graph", "alice bob\nbob carol\n", "f:1: 'alice bob' is not two whole numbers"),
    ("graph", "1.0 2.0\n2.0 3.0\n", "f:1: '1.0 2.0' is not two whole numbers"),
    ("graph", '*Vertices 4\n1 "a"\n*Arcs\n1 2\n', "f:1: '*Vertices 4' is not two whole numbers"),
    ("graph", "18446744073709551615 1\n1 2\n", "is not two whole numbers of at most 18 digits"),
    ("graph", "1,\n2,3\n3,4\n", "f:1: '1,' is not two whole numbers"),
    ("graph", ",source,target\n0,1,2\n1,2,3\n", "f:1: expected two node ids"),
    ("graph", "1,2\nfrom,to\n2,3\n", "f:2: 'from,to' is not two whole numbers"),
    (
        "graph",
        "target,source\n" + swapped(EDGES, ","),
        "f:1: the heading 'target,source' names the end of an",
    ),
    (
        "graph",
        "friend_id user_id\n" + EDGES,
        "names the end of an edge before its beginning. Swap the columns",
    ),
    ("graph", "followed,follower\n" + swapped(EDGES, ","), "Write `first: followed`"),
    ("graph", "%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n", "is no matrix of coordinates"),
    ("graph", COORDINATES + "4 4 5\n1 2\n2 3\n3 4\n", "says 5 entries, but has 3. It may be cut off"),
    ("graph", COORDINATES + "2 5 4\n1 2\n1 3\n2 4\n2 5\n", "is a matrix of 2 x 5, but a graph's is square"),
    ("graph", COORDINATES + "% nothing\n", "has no edge"),
    ("graph", "% bip unweighted\n1 1\n1 2\n", "is a bipartite graph"),
    (
        "graph",
        "graph [ edge [ source 1 target 2 ] ] graph [ edge [ source 3 target 4 ] ]",
        "has a second graph",
    ),
    ("graph", "graph [ edge [ source 1 target 2 ] edge [ source 2 ", "ends inside `edge [`"),
    ("graph", "graph [ edge [ source 1 ] ]", "an edge needs `source` and `target`"),
    ("editors", EDITS.replace(",", "\t"), "is not two whole numbers, `page,editor`"),
    ("editors", "page0,user0\npage1,user1\n", "f:2: 'page1,user1' is not two whole numbers"),
    ("editors", EDITS.replace("\n", ",5\n"), "f:1: '0,1,5' is not two whole numbers"),
    ("editors", EDITS + "1,\n", "f:25: '1,' is not two whole numbers"),
    ("editors", EDITS + "1,10.0.0.1\n", "f:25: '1,10.0.0.1' is not two whole numbers"),
    ("editors", "editor,page\n" + EDITS, "f:1: the heading 'editor,page' names the editor before the page"),
    (
        "editors",
        "user_id;article_id\n" + EDITS.replace(",", ";"),
        "Swap the columns: a line is `page,editor`",
    ),
    *(
        ("duration", text, "a duration needs a number and a unit (us, ms, s, min, h, d)")
        for text in (
            "2 S",
            "2 sec",
            "2 m",
            "0x2 s",
            "\uff12 s",
            "+2 s",
            "1_0 s",
            "2 s 500 ms",
            "1h30m",
            "PT2S",
        )
    ),
    ("duration", "2,5 s", "is not a known key"),
    *(
        ("share", text, "a share is a number such as 0.01")
        for text in ('"1,5 %"', "1/100", '"1 ‰"', '"0.01"')
    ),
    ("share", "1.", "is 1.0, but has to be below 1"),
    *(
        ("rate", text, "a rate needs a number and a unit (bit/s, kbit/s, Mbit/s, Gbit/s)")
        for text in ("20 Mb/s", "20 MB/s", "20 Mbps", "20000000", "20 mbit/s", "-5 Mbit/s")
    ),
    ("varied", "phases.join: [2 s, 2000 ms]", "vary.phases.join[1]: means the same as value 1. Keep one"),
    ("varied", "network.loss: [1 %, 0.01]", "vary.network.loss[1]: means the same as value 1. Keep one"),
    ("varied", "system: [vitis, {name: vitis}]", "vary.system[1]: means the same as value 1. Keep one"),
    ("varied", "network.loss: [0, ~]", "vary.network.loss[1]: is null, but has to be a number"),
    ("varied", "peers: 4..8", 'vary.peers: is "4..8", but has to be a list'),
    ("varied", "{peers: [4, true]}", "vary.peers[1]: is true, but has to be a whole number"),
]
MEAN = "RTT 40 ms to 90 ms, mean 65 ms"
ODD: Cases = [
    ("matrix", "0 40 50 60\n0 0 70 80\n0 0 0 90\n0 0 0 0\n", "6 pairs were measured in one direction alone"),
    ("matrix", swapped(SQUARE, ", ").replace("\n", ",\n"), MEAN),
    ("matrix", '"0","40"\n"40","0"\n', "RTT 40 ms to 40 ms"),
    ("matrix", "0;40;\n40;0;\n", "RTT 40 ms to 40 ms"),
    ("matrix", "0\t40,5\n40,5\t0\n", "2 decimal commas were read as points"),
    ("matrix", "0\u00a040\n40\u00a00\n", "RTT 40 ms to 40 ms"),
    ("matrix", "0 +4e1\n.4e2 0\n", "RTT 40 ms to 40 ms"),
    ("matrix", SQUARE.replace("0 40 50 60", "12 40 50 60"), "1 value on the diagonal is not used"),
    ("matrix", "0 80000\n80000 0\n", "a mean RTT of 80 s is above 2 s, which no Internet has"),
    (
        "matrix",
        "0 9999 30\n9999 0 9999\n30 9999 0\n",
        "2 pairs have the same RTT of 10 s, the largest: if it",
    ),
    ("matrix", "x,a,a\na,0,40\na,40,0\n", "the name 'a' is there twice: each line is a host"),
    (
        "matrix",
        '"x","a b","c d"\n"a b",0,40\n"c d",40,0\n',
        "the names of hosts in the first line and the first",
    ),
    (
        "matrix",
        ",10.0.0.1,10.0.0.2\n10.0.0.1,0,40\n10.0.0.2,40,0\n",
        "the names of hosts in the first line and",
    ),
    ("matrix", "0,40,N/A\n40,0,None\n-,70,0\n", "RTT 40 ms to 110 ms"),
    ("matrix", "0 40 0\n40 0 70\n0 70 0\n", "1 pair has an RTT of 0, which counts as no measurement"),
    ("matrix", gzip.compress(SQUARE[:22].encode()) + gzip.compress(SQUARE[22:].encode()), MEAN),
    ("matrix", zipped(a__="", a__f=SQUARE), MEAN),
    ("matrix", "\ufeff" + SQUARE.replace("\n", "\r\n"), MEAN),
    ("topology", PLACES + "1,2 20\n", "1 pair that the file repeats count once"),
    ("topology", PLACES.replace(" ", "\t"), MEAN),
    (
        "topology",
        PLACES.replace("node 1\n", "node 1 0.5 0.7\n"),
        "what follows the number of 1 node is not used",
    ),
    ("topology", PLACES.replace("\n", "\r\n"), MEAN),
    ("trace", THREE + "d 1 0 30\n", "4 nodes, 4 sessions from 0 s to 30 s"),
    ("trace", THREE + "d\t1\t0.5 3.05e1\n", "4 nodes, 4 sessions from 0 s to 30.5 s"),
    ("trace", THREE + "d\t0\t\n", "1 node has no session"),
    ("graph", swapped(EDGES, ";"), "4 nodes, 5 edges"),
    ("graph", "\ufeff" + EDGES.replace("\n", "\r\n"), "4 nodes, 5 edges"),
    ("graph", "from,to\n" + swapped(EDGES, ","), "the heading 'from,to' is left out"),
    ("graph", "user_id friend_id\n" + EDGES, "the heading 'user_id friend_id' is left out"),
    ("graph", "4 5\n" + EDGES, "so many nodes and edges follow: if it is no edge, remove it"),
    ("graph", "# Undirected graph: x.txt\n" + EDGES, "the file says that its edges have no direction"),
    ("graph", "-1 2\n2 3\n3 -1\n2 4\n", "4 nodes, 4 edges"),
    ("graph", COORDINATES.replace("general", "symmetric") + "4 4 3\n2 1\n3 2\n4 3\n", "no direction"),
    ("graph", "% asym signed\n1 2 -1\n2 3 1\n3 4 -1\n4 1 1\n", "weights and times of 4 edges are not used"),
    ("editors", "page_id,editor_id\n" + EDITS, "the heading 'page_id,editor_id' is left out"),
    ("editors", EDITS.replace(",", ";"), "8 editors of 6 articles, 24 pairs"),
    ("editors", EDITS + "1,0\n", "1 line that repeat a pair count once"),
    *(("duration", text, "valid: 1 trial") for text in ("2s", "2.5s", "1e0 s", "2\u00a0s", '"2 s "', "2 d")),
    *(("share", text, "valid: 1 trial") for text in ("1%", '"1 %"', "1e-2", ".01", "-0.0")),
    ("rate", "20 kbit/s", "valid: 1 trial"),
]
