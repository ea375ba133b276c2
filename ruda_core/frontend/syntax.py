"""What can be known of a function from its syntax alone: what is refused, and who binds which name."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ruda_core.errors import KernelSyntaxError
from ruda_core.ir.span import Span, error_at

SpanOf = Callable[[ast.AST], Span]

_FORBIDDEN: dict[type[ast.AST], str] = {
    ast.Try: "try is not in the kernel language: test the condition with if",
    ast.Raise: "raise is not in the kernel language: use assert, or store an error code",
    ast.With: "with is not in the kernel language",
    ast.AsyncWith: "with is not in the kernel language",
    ast.AsyncFor: "async for is not in the kernel language",
    ast.Await: "await is not in the kernel language",
    ast.Lambda: "lambda is not in the kernel language: write a @ruda.func",
    ast.ListComp: "a comprehension is not in the kernel language: write a for loop",
    ast.SetComp: "a comprehension is not in the kernel language: write a for loop",
    ast.DictComp: "a comprehension is not in the kernel language: write a for loop",
    ast.GeneratorExp: "a generator is not in the kernel language: write a for loop",
    ast.Yield: "a generator is not in the kernel language: store results in an array",
    ast.YieldFrom: "a generator is not in the kernel language: store results in an array",
    ast.ClassDef: "a class is not in the kernel language: define it outside the kernel",
    ast.FunctionDef: "a nested function is not in the kernel language: write a @ruda.func outside",
    ast.AsyncFunctionDef: "a nested function is not in the kernel language: write a @ruda.func outside",
    ast.JoinedStr: "a string is not in the kernel language",
    ast.Dict: "a dict is not in the kernel language: use a frozen dataclass or a tuple, outside the kernel",
    ast.Set: "a set is not in the kernel language: use a tuple",
    ast.List: "a list is not in the kernel language: use a tuple, ruda.local or ruda.shared",
    ast.Global: "global is not in the kernel language: pass the value, and store results in an array",
    ast.Nonlocal: "nonlocal is not in the kernel language: pass the value, and store results in an array",
    ast.Import: "import is not in the kernel language: import at the top of the module",
    ast.ImportFrom: "import is not in the kernel language: import at the top of the module",
    ast.Delete: "del is not in the kernel language",
    ast.Match: "match is not in the kernel language: use if and elif",
    ast.NamedExpr: "an assignment expression is not in the kernel language: assign on a line of its own",
    ast.Starred: "a starred expression is not in the kernel language: write the items out",
    ast.Slice: "a slice is not in the kernel language: index one element, in a loop if need be",
}
if hasattr(ast, "TryStar"):
    _FORBIDDEN[ast.TryStar] = _FORBIDDEN[ast.Try]


def check(node: ast.FunctionDef, span: SpanOf) -> None:
    """Raise KernelSyntaxError at the first piece of Python that is not in the language."""
    for stmt in node.body:
        _check(stmt, span)


def _check(node: ast.AST, span: SpanOf) -> None:
    message = _FORBIDDEN.get(type(node))
    if message is not None and not _is_target(node):
        raise error_at(KernelSyntaxError, message, span(node))
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return  # a docstring, or a string that does nothing
        case ast.Constant(value=str() | bytes()):
            raise error_at(
                KernelSyntaxError,
                "a string is not in the kernel language, save as an assert's message",
                span(node),
            )
        case ast.Constant(value=complex()):
            raise error_at(KernelSyntaxError, "a complex number is not in the kernel language", span(node))
        case ast.For() | ast.While() if node.orelse:
            word = "for" if isinstance(node, ast.For) else "while"
            raise error_at(
                KernelSyntaxError,
                f"{word} … else is not in the language: set a flag before break",
                span(node),
            )
        case ast.Assert():
            _check_assert(node, span)
            return
        case ast.Call():
            _check_call(node, span)
            return
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                _check_target(target, span)
    for child in ast.iter_child_nodes(node):
        _check(child, span)


def _is_target(node: ast.AST) -> bool:
    return isinstance(node, ast.List) and isinstance(node.ctx, ast.Store)


def _check_assert(node: ast.Assert, span: SpanOf) -> None:
    _check(node.test, span)
    if node.msg is not None and not (isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str)):
        raise error_at(KernelSyntaxError, "an assert's message is a plain string", span(node.msg))


def _check_call(node: ast.Call, span: SpanOf) -> None:
    """The strings that a call may have: `float("inf")`, and what debug_print would print."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    _check(node.func, span)
    for value in (*node.args, *(k.value for k in node.keywords)):
        if not (name in ("float", "debug_print") and isinstance(value, ast.Constant)):
            _check(value, span)


def _check_target(target: ast.expr, span: SpanOf) -> None:
    if isinstance(target, ast.Attribute):
        raise error_at(
            KernelSyntaxError,
            "an attribute is not assigned in a kernel: assign a local, or an element of an array",
            span(target),
        )
    if isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            _check_target(item, span)


# Who binds what -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Facts:
    """The names that a function binds."""

    binders: dict[str, int] = field(default_factory=dict)
    """How many places bind a name; a parameter counts as one."""
    exclusive: frozenset[str] = frozenset()
    """Names that several places bind, of which each run of the code meets at most one."""
    loop_only: frozenset[str] = frozenset()
    """Names that only for loops bind and only those loops' bodies use."""


def facts_of(node: ast.FunctionDef) -> Facts:
    """The binding facts of one function."""
    walker = _Binders()
    args = node.args
    named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    params = [a.arg for a in (*named, *filter(None, (args.vararg, args.kwarg)))]
    on_path = walker.block(node.body, frozenset())
    binders = walker.binders
    for name in params:
        binders[name] = binders.get(name, 0) + 1
        on_path[name] = on_path.get(name, 0) + 1
    exclusive = frozenset(n for n, count in binders.items() if count > 1 and on_path[n] == 1)
    loop_only = walker.loop_targets - walker.elsewhere - set(params)
    return Facts(binders, exclusive, frozenset(loop_only))


class _Binders:
    """Counts bindings: in all, and at most on one path through the code."""

    def __init__(self) -> None:
        self.binders: dict[str, int] = {}
        self.loop_targets: set[str] = set()
        self.elsewhere: set[str] = set()
        """Names bound other than by a loop, or used outside of the loops that bind them."""

    def block(self, body: Iterable[ast.stmt], inside: frozenset[str]) -> dict[str, int]:
        """`inside` are the targets of the loops around. Gives the bindings of the longest path."""
        total: dict[str, int] = {}
        for stmt in body:
            _add(total, self.statement(stmt, inside))
        return total

    def statement(self, stmt: ast.stmt, inside: frozenset[str]) -> dict[str, int]:
        match stmt:
            case ast.If():
                self.uses(stmt.test, inside)
                counts = self.block(stmt.body, inside)
                for name, count in self.block(stmt.orelse, inside).items():
                    counts[name] = max(counts.get(name, 0), count)
                return counts
            case ast.While():
                self.uses(stmt.test, inside)
                return self.block(stmt.body, inside)
            case ast.For():
                self.uses(stmt.iter, inside)
                targets = {n.id for n in ast.walk(stmt.target) if isinstance(n, ast.Name)}
                self.loop_targets |= targets
                self.elsewhere |= targets & inside
                counts = dict.fromkeys(targets, 1)
                _add(self.binders, counts)
                _add(counts, self.block(stmt.body, inside | targets))
                return counts
        return self.uses(stmt, inside)

    def uses(self, node: ast.AST, inside: frozenset[str]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for child in ast.walk(node):
            if not isinstance(child, ast.Name):
                continue
            if isinstance(child.ctx, ast.Store):
                counts[child.id] = counts.get(child.id, 0) + 1
                self.binders[child.id] = self.binders.get(child.id, 0) + 1
                self.elsewhere.add(child.id)
            elif child.id not in inside:
                self.elsewhere.add(child.id)
        return counts


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
