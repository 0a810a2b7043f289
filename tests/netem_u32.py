"""What u32 does with a packet, and the rules that a kernel has, read back from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyroute2.netlink import nlmsg
from pyroute2.netlink.rtnl import RTM_GETTFILTER

from emulator.network.netem.messages import DESTINATION, HTB, Hook, U32Request
from emulator.network.netem.netlink import GET, Netlink
from emulator.network.netem.rules import BUCKETS, ROOT_TABLE, Filter, Rule, Table

DEPTH = 8
"""Tables that one lookup may go through, as in the kernel."""


class Lookup:
    """`u32_classify` of the kernel's cls_u32.c, for rules as data."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.comparisons = 0
        self._tables = {ROOT_TABLE}
        self._buckets: dict[int, list[Filter]] = {}
        for rule in rules:
            if isinstance(rule, Table):
                assert rule.number not in self._tables, "a table is made twice"
                self._tables.add(rule.number)
            elif isinstance(rule, Filter):
                assert rule.handle >> 20 in self._tables, "a filter comes before its table"
                assert rule.link is None or rule.link in self._tables, "a link comes before its table"
                self._buckets.setdefault(rule.bucket, []).append(rule)
        for filters in self._buckets.values():
            filters.sort(key=lambda rule: rule.handle)
            assert len({rule.handle for rule in filters}) == len(filters), "two filters have one handle"

    def find(self, address: int) -> int | None:
        """Return the class of a packet to this address, 0 if the filter that takes it names none, or None if
        no filter takes it."""
        self.comparisons = 0
        return self._find(address, ROOT_TABLE << 20, 1)

    def _find(self, address: int, bucket: int, depth: int) -> int | None:
        assert depth <= DEPTH, "the kernel gives up"
        for rule in self._buckets.get(bucket, ()):
            self.comparisons += 1
            if address & rule.mask != rule.value:
                continue
            if rule.link is not None:
                shift = (rule.hash_mask & -rule.hash_mask).bit_length() - 1
                chosen = (address & rule.hash_mask) >> shift & BUCKETS - 1
                found = self._find(address, rule.link << 20 | chosen << 12, depth + 1)
                if found is not None:
                    return found
            elif rule.target is None:
                return 0
            if rule.target is not None:
                return rule.target
        return None


def read_filters(interface: int, hook: Hook | None = None) -> list[Rule]:
    """Return tables and filters of a hook that the kernel has in this namespace, tables first; without a hook
    those of the destinations that this interface delays.

    Filters that find addresses send packets through the hook's device.
    """
    hook = hook or Hook(interface, HTB, DESTINATION)
    request = U32Request()
    request.update(index=hook.interface, parent=hook.parent)
    with Netlink() as netlink:
        answers = netlink.request(request, RTM_GETTFILTER, GET)
    rules = [rule for answer in answers if (rule := _rule(answer, hook)) is not None]
    return sorted(rules, key=lambda rule: not isinstance(rule, Table))


def _rule(answer: nlmsg, hook: Hook) -> Rule | None:
    handle = answer["handle"]
    options: Any = answer.get_attr("TCA_OPTIONS")
    if options is None or (handle >> 20 == ROOT_TABLE and not handle & 0xFFF):
        return None
    if options.get_attr("TCA_U32_DIVISOR") is not None:
        return Table(handle >> 20)
    selector = options.get_attr("TCA_U32_SEL")
    assert (selector["nkeys"], selector["key_offset"], selector["hoff"]) == (1, hook.address, hook.address)
    target = options.get_attr("TCA_U32_CLASSID")
    link = options.get_attr("TCA_U32_LINK")
    assert bool(selector["flags"]) == (link is None)
    assert _device(options) == (hook.through if link is None else 0)
    return Filter(
        handle,
        selector["key_value"],
        selector["key_mask"],
        target=None if target is None else target & 0xFFFF,
        link=None if link is None else link >> 20,
        hash_mask=selector["hmask"],
    )


def _device(options: Any) -> int:
    """Return the device through which a filter sends packets, 0 for none."""
    found = options.get_attr("TCA_U32_ACT")
    if found is None:
        return 0
    action = found.get_attr("TCA_ACT_PRIO_1")
    assert action.get_attr("TCA_ACT_KIND") == "mirred"
    return int(action.get_attr("TCA_ACT_OPTIONS").get_attr("TCA_MIRRED_PARMS")["interface"])
