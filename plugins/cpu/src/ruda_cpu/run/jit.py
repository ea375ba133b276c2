"""LLVM: text to object code for this processor, and object code to a function."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ruda_cpu.target import WIDTH

_MAGIC = b"ruda-cpu-object-1"
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int8, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A kernel in memory; it stays there as long as this object."""

    call: Callable[[int, int], int]
    """`call(job, scratch)`, by address, runs a chunk of groups; 0 where none is left. Python's lock is released meanwhile."""
    address: int
    """Where it is."""
    object_code: bytes
    library: Any
    """Keeps the code mapped."""


_OPTION = "-enable-epilogue-vectorization=false"
"""LLVM 22.1's vectorised epilogues compute wrong results in some loops of selects (the last elements of a
bf16 arctan2). The option holds for the whole process, as LLVM's options do."""


class Refused(Exception):
    """LLVM's own message about text that it does not take."""


class Machine:
    """The compiler for the processor that this process runs on; used from any thread."""

    def __init__(self) -> None:
        llvm.set_option("ruda", _OPTION)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.cpu = llvm.get_host_cpu_name()
        self.features = llvm.get_host_cpu_features().flatten()
        self.triple = llvm.get_process_triple()
        self._target = llvm.Target.from_triple(self.triple)
        self._machine = self._new_machine()
        self._jit = llvm.create_lljit_compiler(self._new_machine(), use_jit_link=True)

    def _new_machine(self) -> Any:
        return self._target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=3, reloc="pic", codemodel="small", jit=True
        )

    @property
    def version(self) -> str:
        """LLVM's and llvmlite's."""
        return (
            f"LLVM {'.'.join(map(str, llvm.llvm_version_info))}, llvmlite {llvmlite.__version__}, {_OPTION}"
        )

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that object code depends on beside the text."""
        parts = (self.version, self.triple, self.cpu, self.features, _MAGIC.decode())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def compile(self, text: str, *, optimise: bool = True) -> bytes:
        """Object code of a module; raises Refused with LLVM's message."""
        header = f'target triple = "{self.triple}"\ntarget datalayout = "{self._machine.target_data}"\n'
        with self._lock:
            try:
                module = llvm.parse_assembly(header + text)
                module.verify()
            except RuntimeError as error:
                raise Refused(str(error)) from error
            if optimise:
                self._optimise(module, text)
            code: bytes = self._machine.emit_object(module)
        return code

    def _optimise(self, module: Any, text: str) -> None:
        # what is in vectors already gains nothing from the last level, which takes twice as long
        options = llvm.create_pipeline_tuning_options(speed_level=2 if f"<{WIDTH} x" in text else 3)
        options.loop_vectorization = options.slp_vectorization = True
        options.loop_interleaving = options.loop_unrolling = True
        builder = llvm.create_pass_builder(self._machine, options)
        builder.getModulePassManager().run(module, builder)

    def link(self, code: bytes, entry: str) -> Code:
        """Map object code and find its entry point; raises Refused with LLVM's message."""
        library = self.link_all(code, (entry,))
        return Code(_SIGNATURE(library[entry]), library[entry], code, library)

    def link_all(self, code: bytes, names: Sequence[str]) -> Any:
        """Map object code; the addresses of some of its functions, by name. Raises Refused with LLVM's message."""
        with self._lock:
            try:
                builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
                for name in names:
                    builder = builder.export_symbol(name)
                return builder.link(self._jit, f"{names[0]}.{next(self._numbers)}")
            except RuntimeError as error:
                raise Refused(str(error)) from error


def pack(code: bytes) -> bytes:
    """Object code as it is kept on disk: with a digest of itself."""
    return _MAGIC + hashlib.sha256(code).digest() + code


def unpack(data: bytes) -> bytes | None:
    """The object code, or None of bytes that are damaged or of another format."""
    at = len(_MAGIC) + 32
    code = data[at:]
    if not data.startswith(_MAGIC) or hashlib.sha256(code).digest() != data[len(_MAGIC) : at]:
        return None
    return code


_machine: Machine | None = None
_machine_lock = threading.Lock()


def machine() -> Machine:
    """The one compiler of this process."""
    global _machine
    with _machine_lock:
        if _machine is None:
            _machine = Machine()
        return _machine
