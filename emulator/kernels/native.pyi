from librt.vecs import vec
from mypy_extensions import i32, i64

def best(
    utilities: memoryview[float],
    handles: vec[i64],
    count: int,
    places: vec[i64],
    here: int,
    kept: int,
    taken: list[int],
    most: int,
) -> list[int]: ...
def near(handles: vec[i64], count: int, places: vec[i64], here: int, reaches: vec[float]) -> list[int]: ...
def next_hops(
    topics: vec[i32],
    keys: vec[i64],
    handles: vec[i64],
    begin: int,
    end: int,
    places: vec[i64],
    peers: vec[i64],
    here: int,
) -> dict[int, vec[i32]] | None: ...
def rate(
    utilities: memoryview[float],
    handles: vec[i64],
    count: int,
    own: int,
    topics: vec[i32],
    begins: vec[i64],
    sizes: vec[i64],
    rates: vec[float],
    known: vec[i64],
) -> bool: ...
def elect(
    own: int,
    limit: int,
    profile: int,
    keys: vec[i64],
    neighbours: vec[i64],
    said: vec[i64],
    count: int,
    topics: vec[i32],
    begins: vec[i64],
    sizes: vec[i64],
    profiles: vec[i64],
    firsts: vec[i64],
    gateways: vec[i32],
    parents: vec[i32],
    hops: vec[i32],
    peers: vec[i64],
    places: vec[i64],
    former_gateways: vec[i64],
    former_parents: vec[i64],
    former_hops: vec[i64],
) -> tuple[vec[i64], ...] | None: ...
def unite(sets: vec[vec[i32]], rows: vec[i64], begin: int, end: int) -> vec[i32]: ...
def use_huge_pages() -> None: ...
