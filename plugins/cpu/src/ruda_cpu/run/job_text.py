"""LLVM's text of what threads do with a job beside running it: come as a waiter, help late, ask whether all is done."""

from __future__ import annotations

from ruda_cpu.run.templates import filled, passed
from ruda_cpu.words import Entered

_TURN = 20_000_000
"""Nanoseconds after which a waiter goes back to hear of interrupts."""
_WAITER_LOOKS = 8000
"""How often a waiter that finds no work left looks whether the others have done theirs: for 200 to 400 µs. What wakes it
otherwise is Python, on a thread whose caches hold none of it."""

_JOBS = """
define internal i8 @done(ptr %job, i64 %most) {
start:
  <words of job>
  %groups = load i64, ptr %job.GROUPS
  br label %look
look:
  %looks = phi i64 [ %most, %start ], [ %looks.next, %again ]
  %count = load atomic i64, ptr %job.DONE acquire, align 8
  %all = icmp eq i64 %count, %groups
  %enough = icmp eq i64 %looks, 0
  %over = or i1 %all, %enough
  br i1 %over, label %leave, label %again
again:
  <pause>
  %looks.next = sub nuw i64 %looks, 1
  br label %look
leave:
  %answer = zext i1 %all to i8
  ret i8 %answer
}
define i8 @enter(ptr %job, ptr %scratch, ptr %call, i64 %back) {
start:
  %clock = alloca [2 x i64]
  <words of job>
  %new = icmp eq i64 %back, 0
  br i1 %new, label %come, label %in
come:
  %pair = cmpxchg ptr %job.CAME, i64 0, i64 <WAITER> acq_rel monotonic
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %in, label %late
in:
  <before>
  br label %work
work:
  %ran = call i8 %call(ptr %job, ptr %scratch)
  %more = icmp ne i8 %ran, 0
  br i1 %more, label %between, label %last
between:
  <listened>
  br i1 %listened, label %out, label %work
out:
  ret i8 <ON>
last:
  %all = call i8 @done(ptr %job, i64 <WAITER_LOOKS>)
  ret i8 %all
late:
  ret i8 <LATE>
}
define i8 @follow(ptr %job) {
start:
  <words of job>
  br label %try
try:
  %missing = load atomic i64, ptr %job.MISSING acquire, align 8
  %none = icmp eq i64 %missing, 0
  br i1 %none, label %no, label %some
some:
  %less = sub i64 %missing, 1
  %pair = cmpxchg ptr %job.MISSING, i64 %missing, i64 %less acq_rel monotonic
  %ok = extractvalue { i64, i1 } %pair, 1
  br i1 %ok, label %yes, label %try
yes:
  %inside = atomicrmw add ptr %job.INSIDE, i64 1 monotonic
  ret i8 1
no:
  ret i8 0
}
define void @decline(ptr %job) {
  <words of job>
  %pair = cmpxchg ptr %job.CAME, i64 0, i64 <STAND_IN> acq_rel monotonic
  ret void
}
"""


def job_text(common: dict[str, str]) -> str:
    """The functions, for a module with `wake`; `common` are the parts that all of it has."""
    own = {
        "LATE": str(Entered.LATE.value),
        "ON": str(Entered.ON.value),
        "WAITER_LOOKS": str(_WAITER_LOOKS),
        "listened": passed(common["clock"], "listened", _TURN),
    }
    return filled(_JOBS, own | common)
