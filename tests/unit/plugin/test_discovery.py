from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from ruda_core.errors import (
    BackendConflict,
    BackendIncompatible,
    BackendLoadError,
    BackendNotFound,
    BackendUnavailable,
    ConfigError,
)
from ruda_core.plugin import BackendEntry, BackendInfo
from ruda_core.plugin.catalog import Catalog

Install = Callable[..., str]
Make = Callable[..., Catalog]

ENTRY = """
from ruda_core.plugin import BackendEntry, BackendUnavailable, DeviceInfo, hookimpl

@hookimpl
def ruda_backends():
    return [BackendEntry(name="acme", api_version=1, probe=__name__ + ":probe", driver=__name__ + ":Driver")]
"""


def good(backend: str, **kwargs: Any) -> str:
    kind, version, priority = (
        kwargs.get(k, d) for k, d in (("kind", "other"), ("version", 1), ("priority", 0))
    )
    return (
        ENTRY.replace('"acme"', repr(backend))
        .replace("api_version=1", f"api_version={version}")
        .replace('":Driver"', f'":Driver", priority={priority}')
        + f'\ndef probe():\n    return [DeviceInfo({backend!r}, 0, name="one", kind={kind!r})]\n'
    )


def row(catalog: Catalog, name: str) -> BackendInfo:
    (found,) = [info for info in catalog.infos() if info.name == name]
    return found


def test_an_installed_backend_is_listed_with_its_distribution_and_devices(
    install: Install, catalog: Make
) -> None:
    install("ruda-acme", good("acme"), version="2.5")
    info = row(catalog(), "acme")
    assert (info.distribution, info.version, info.api_version, info.status) == (
        "ruda-acme",
        "2.5",
        1,
        "available",
    )
    assert [str(d) for d in info.devices] == ["acme:0"]


@pytest.mark.parametrize(
    "code, cause",
    [
        ("import no_such_module_anywhere", ModuleNotFoundError),
        ("raise OSError('libacme.so: cannot open shared object file')", OSError),
        ("raise SystemExit(3)", SystemExit),
        ("def broken(:", SyntaxError),
        (ENTRY + "\nraise RuntimeError", RuntimeError),
        (
            "from ruda_core.plugin import hookimpl\n@hookimpl\ndef ruda_backends():\n    raise KeyError('x')",
            KeyError,
        ),
        (ENTRY.replace("api_version=1, ", ""), TypeError),
        (ENTRY.replace("acme", "Not A Name"), ConfigError),
    ],
)
def test_a_plugin_that_fails_is_broken_with_its_cause_and_spares_the_others(
    install: Install, catalog: Make, code: str, cause: type[BaseException]
) -> None:
    install("ruda-bad", code, entry="bad")
    install("ruda-good", good("good"), entry="good")
    found = catalog()
    assert row(found, "good").status == "available"
    bad = row(found, "bad")
    assert bad.status == "broken" and "ruda-bad 1.0" in bad.reason and bad.devices == ()
    for name in ("bad", "ruda-bad"):
        with pytest.raises(BackendLoadError) as caught:
            found.named(name).devices()
        assert isinstance(caught.value.__cause__, cause) and "ruda-bad" in str(caught.value)


@pytest.mark.parametrize("returned", ["None", "['acme']", "3"])
def test_a_hook_that_gives_no_list_of_entries_is_broken(
    install: Install, catalog: Make, returned: str
) -> None:
    install(
        "ruda-bad",
        f"from ruda_core.plugin import hookimpl\n@hookimpl\ndef ruda_backends():\n    return {returned}",
    )
    found = [info for info in catalog().infos() if info.distribution == "ruda-bad"]
    if returned == "None":  # by pluggy's rules: no answer
        assert found == []
    else:
        assert [info.status for info in found] == ["broken"] and "list of BackendEntry" in found[0].reason


def test_a_misspelt_hook_is_found(install: Install, catalog: Make) -> None:
    install(
        "ruda-bad",
        "from ruda_core.plugin import hookimpl\n@hookimpl\ndef ruda_backend():\n    return []",
        "bad",
    )
    info = row(catalog(), "bad")
    assert info.status == "broken" and "ruda_backend" in info.reason


def test_keyboard_interrupt_is_not_swallowed(install: Install, catalog: Make) -> None:
    install("ruda-bad", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        catalog().infos()


@pytest.mark.parametrize("version, mend", [(2, "upgrade ruda-core"), (0, "upgrade ruda-acme")])
def test_another_api_version_is_incompatible(
    install: Install, catalog: Make, version: int, mend: str
) -> None:
    install("ruda-acme", good("acme", version=version))
    found = catalog()
    info = row(found, "acme")
    assert info.status == "incompatible" and info.api_version == version and mend in info.reason
    with pytest.raises(BackendIncompatible, match=mend):
        found.named("acme").runtime()


def test_two_distributions_under_one_name_both_lose_until_one_is_chosen(
    install: Install, catalog: Make
) -> None:
    install("ruda-one", good("acme"))
    install("ruda-two", good("acme"))
    found = catalog()
    rows = [info for info in found.infos() if info.name == "acme"]
    assert [(info.distribution, info.status) for info in rows] == [
        ("ruda-one", "conflict"),
        ("ruda-two", "conflict"),
    ]
    with pytest.raises(BackendConflict) as caught:
        found.named("acme").devices()
    for word in ("ruda-one", "ruda-two", 'RUDA_BACKENDS="acme@ruda-two"'):
        assert word in str(caught.value)
    chosen = catalog(RUDA_BACKENDS="acme@ruda_two")
    rows = [info for info in chosen.infos() if info.name == "acme"]
    assert [(info.distribution, info.status) for info in rows] == [
        ("ruda-one", "disabled"),
        ("ruda-two", "available"),
    ]
    assert chosen.named("acme").claim.distribution == "ruda-two"


def test_nobody_takes_the_name_of_what_is_built_in(install: Install, catalog: Make) -> None:
    install("ruda-thief", good("reference"))
    rows = {info.distribution: info.status for info in catalog().infos() if info.name == "reference"}
    assert rows["ruda-thief"] == "conflict" and rows["ruda-core"] != "conflict"


def test_a_disabled_backend_is_not_even_imported(install: Install, catalog: Make) -> None:
    module = install("ruda-acme", good("acme"), entry="acme")
    found = catalog(RUDA_DISABLE_BACKENDS="acme")
    info = row(found, "acme")
    assert info.status == "disabled" and "RUDA_DISABLE_BACKENDS" in info.reason and module not in sys.modules
    with pytest.raises(BackendUnavailable, match="RUDA_DISABLE_BACKENDS"):
        found.named("acme").devices()


def test_the_allow_list_leaves_others_out_and_sets_the_order(install: Install, catalog: Make) -> None:
    for name in ("one", "two", "three"):
        install(f"ruda-{name}", good(name, kind="discrete" if name == "one" else "cpu"), entry=name)
    found = catalog(RUDA_BACKENDS="two,one")
    assert [str(d) for d in found.ranked_devices()] == ["two:0", "one:0"]
    assert row(found, "three").status == "disabled"


def test_without_plugins_only_what_is_built_in_is_there(install: Install, catalog: Make) -> None:
    install("ruda-acme", good("acme"))
    found = catalog(RUDA_NO_PLUGINS="1")
    assert {info.distribution for info in found.infos()} == {"ruda-core"}
    with pytest.raises(BackendNotFound, match="RUDA_NO_PLUGINS"):
        found.named("acme")


def test_an_unknown_name_lists_what_is_there_and_the_command_of_a_known_one(
    install: Install, catalog: Make
) -> None:
    install("ruda-acme", good("acme"))
    install("ruda-bad", "raise OSError('no libbad.so')", entry="bad")
    found = catalog()
    with pytest.raises(BackendNotFound) as caught:
        found.named("nonesuch")
    for word in ("nonesuch", "acme", "ruda-bad", "no libbad.so"):
        assert word in str(caught.value)
    with pytest.raises(BackendNotFound, match=r"pip install -e \S+plugins/wgpu brings it"):
        Catalog(catalog(RUDA_NO_PLUGINS="1").settings).named("wgpu")


@pytest.mark.parametrize(
    "probe, status, words",
    [
        ("return []", "unavailable", "no device"),
        ("raise BackendUnavailable('apt-get install acme')", "unavailable", "apt-get install acme"),
        ("raise OSError('libacme.so')", "broken", "OSError: libacme.so"),
        ("raise SystemExit", "broken", "SystemExit"),
        ("return None", "broken", "TypeError"),
        ("return [DeviceInfo('other', 0)]", "broken", "other"),
        ("return [DeviceInfo('acme', 0), DeviceInfo('acme', 0, type_id=1)]", "broken", "one index"),
    ],
)
def test_what_a_probe_does_decides_the_status(
    install: Install, catalog: Make, probe: str, status: str, words: str
) -> None:
    install("ruda-acme", ENTRY + f"\ndef probe():\n    {probe}\n")
    found = catalog()
    info = row(found, "acme")
    assert info.status == status and words in info.reason
    with pytest.raises(BackendUnavailable if status == "unavailable" else BackendLoadError):
        found.named("acme").devices()


def test_a_probe_runs_once_for_listings_and_anew_for_who_asks_by_name(
    install: Install, catalog: Make
) -> None:
    code = (
        ENTRY
        + """
calls = []
def probe():
    calls.append(1)
    if len(calls) == 1:
        raise OSError("not yet")
    return [DeviceInfo("acme", 0)]
"""
    )
    module = install("ruda-acme", code)
    found = catalog()
    assert [row(found, "acme").status for _ in range(3)] == ["broken"] * 3
    assert len(sys.modules[module].calls) == 1
    assert [str(d) for d in found.named("acme").devices()] == ["acme:0"]
    assert row(found, "acme").status == "available"


def test_the_ranking_goes_by_kind_then_priority_then_name(install: Install, catalog: Make) -> None:
    rows = [("z", "discrete", 0), ("b", "discrete", 0), ("c", "discrete", 5), ("d", "integrated", 9), ("e", "cpu", 9),
            ("f", "virtual", 0)]  # fmt: skip
    for name, kind, priority in rows:
        install(f"ruda-{name}", good(name, kind=kind, priority=priority))
    processor = good("g", kind="cpu").replace("priority=0", 'standing="processor"')
    install("ruda-g", processor)
    order = [d.backend for d in catalog().ranked_devices() if len(d.backend) == 1]  # not what is installed
    assert order == ["c", "b", "z", "d", "f", "g", "e"]


def test_registered_by_hand_is_under_the_same_rules(install: Install, catalog: Make) -> None:
    module = install("ruda-acme", good("acme"))
    found = catalog()
    found.infos()
    extra = BackendEntry(name="extra", api_version=1, probe=f"{module}:probe", driver=f"{module}:Driver")
    found.register(extra)
    assert row(found, "extra").status == "broken", "its probe gives devices of another backend"
    found.register(
        BackendEntry(name="acme", api_version=1, probe=f"{module}:probe", driver=f"{module}:Driver")
    )
    assert [i.status for i in found.infos() if i.name == "acme"] == ["conflict", "conflict"]


def test_hooks_take_the_arguments_they_need(install: Install, catalog: Make) -> None:
    code = """
from ruda_core.plugin import hookimpl
seen = []
@hookimpl
def ruda_kernel_compiled({arguments}):
    seen.append(({arguments}))
"""
    modules = [
        install(f"ruda-h{k}", code.format(arguments=a))
        for k, a in enumerate(("", "seconds", "kernel, device"))
    ]
    catalog().hooks.ruda_kernel_compiled(kernel="k", device="d", seconds=0.5)
    assert [sys.modules[m].seen for m in modules] == [[()], [0.5], [("k", "d")]]


WRONG = [
    {"name": "Acme"},
    {"name": ""},
    {"probe": "probe"},
    {"probe": None},
    {"driver": None},
    {"priority": "high"},
    {"standing": "first"},
    {"forkable": "never"},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_an_entry_that_cannot_be_one_is_refused(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"name": "acme", "api_version": 1, "probe": "a:b", "driver": "a:C", **wrong}
    with pytest.raises(ConfigError):
        BackendEntry(**arguments)


@pytest.mark.parametrize("entry", [3, None, "acme"], ids=repr)
def test_only_an_entry_is_registered(entry):
    with pytest.raises(ConfigError, match="BackendEntry"):
        Catalog().register(entry)
